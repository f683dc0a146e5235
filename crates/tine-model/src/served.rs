//! The facts that a server of models tells about itself.

use crate::agent::words;

words! {
    /// A program that serves models on machines of one's own. Each keeps its cache in its own way.
    Engine[4] {
        /// llama.cpp's server: each slot holds one conversation, and slots share nothing.
        LlamaServer = "llama-server",
        /// vLLM: all requests share blocks of tokens.
        Vllm = "vllm",
        /// SGLang: all requests share a tree of tokens.
        Sglang = "sglang",
        /// Ollama: its runner has slots, one unless it is told otherwise.
        Ollama = "ollama",
    }
}

impl Engine {
    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::LlamaServer => "llama-server",
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::Ollama => "Ollama",
        }
    }
}

/// The facts that a server tells about itself and about a model that it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Served {
    /// The program, where it is one that is known.
    pub engine: Option<Engine>,
    /// The number of slots that it has, where it has slots and says how many.
    pub slots: Option<u32>,
    /// Longest prompt with its answer that it takes, in tokens.
    pub window_tokens: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_read_back_by_its_name() {
        for engine in Engine::ALL {
            assert_eq!(Engine::from_name(engine.as_str()), Some(engine));
        }
        assert_eq!(Engine::from_name("vLLM"), None);
    }
}
