//! Languages as far as colours need them: their words, their texts, their comments.

/// A text in a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quote {
    /// What it begins with.
    pub(super) open: &'static str,
    /// What it ends with.
    pub(super) close: &'static str,
    /// Whether it may go on over the end of a line.
    pub(super) spans_lines: bool,
}

/// A language.
#[derive(Debug)]
pub(super) struct Language {
    /// What people and files call it: words behind a fence, ends of file names.
    names: &'static [&'static str],
    /// Its own words, with a blank between them.
    pub(super) words: &'static str,
    /// What begins a comment to the end of the line.
    pub(super) comments: &'static [&'static str],
    /// What begins and ends a comment over several lines.
    pub(super) block: Option<(&'static str, &'static str)>,
    /// Texts, the longest beginnings first.
    pub(super) quotes: &'static [Quote],
    /// Whether `'` holds one character, or begins the name of a lifetime.
    pub(super) has_characters: bool,
    /// What stands behind the name of a field.
    pub(super) key_sign: Option<char>,
    /// Whether its words are the same in capitals.
    pub(super) ignores_case: bool,
}

const fn quote(sign: &'static str) -> Quote {
    Quote { open: sign, close: sign, spans_lines: false }
}

const fn long(sign: &'static str) -> Quote {
    Quote { open: sign, close: sign, spans_lines: true }
}

const BOTH: &[Quote] = &[quote("\""), quote("'")];
const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

/// A language with comments and texts as in C.
const C_LIKE: Language = Language {
    names: &[],
    words: "",
    comments: &["//"],
    block: C_BLOCK,
    quotes: BOTH,
    has_characters: false,
    key_sign: None,
    ignores_case: false,
};

/// A language with comments behind `#`.
const SCRIPT: Language = Language { comments: &["#"], block: None, ..C_LIKE };

/// Words of C, which its descendants have, too.
const C_WORDS: &str = "auto bool break case catch char class const constexpr continue default delete do double \
            else enum extern float for goto if inline int long namespace new nullptr operator \
            override private protected public return short signed sizeof static struct switch \
            template this throw try typedef typename union unsigned using virtual void volatile \
            while";

/// Words of languages on the machines of Java and .NET.
const OBJECT_WORDS: &str = "abstract async await base bool boolean break byte case catch char class companion const \
            continue data decimal default do double else enum extends final finally float for \
            foreach fun get if implements import in instanceof int interface internal is long \
            namespace new object out override package private protected public readonly record \
            return sealed set short static string struct super suspend switch this throw throws \
            trait try using val var virtual void when where while with yield def match";

/// All that are known.
const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        words: "as async await break const continue crate dyn else enum extern fn for if impl in let \
            loop match mod move mut pub ref return self Self static struct super trait type union \
            unsafe use where while",
        quotes: &[Quote { open: "r#\"", close: "\"#", spans_lines: true }, long("\"")],
        has_characters: true,
        ..C_LIKE
    },
    Language {
        names: &["python", "py", "pyi", "python3"],
        words: "and as assert async await break case class continue def del elif else except finally for \
            from global if import in is lambda match nonlocal not or pass raise return self try \
            while with yield",
        quotes: &[long("\"\"\""), long("'''"), quote("\""), quote("'")],
        ..SCRIPT
    },
    Language {
        names: &["javascript", "js", "jsx", "mjs", "cjs", "typescript", "ts", "tsx"],
        words: "as async await break case catch class const continue default delete do else enum export \
            extends finally for from function if implements import in instanceof interface let new \
            of private public readonly return static super switch this throw try type typeof var \
            void while yield",
        quotes: &[long("`"), quote("\""), quote("'")],
        ..C_LIKE
    },
    Language {
        names: &["c", "h", "cpp", "c++", "cc", "hpp", "cxx", "objc"],
        words: C_WORDS,
        ..C_LIKE
    },
    Language {
        names: &["java", "kotlin", "kt", "kts", "csharp", "cs", "c#", "scala", "groovy", "dart"],
        words: OBJECT_WORDS,
        quotes: &[long("\"\"\""), quote("\""), quote("'")],
        ..C_LIKE
    },
    Language {
        names: &["go", "golang"],
        words: "break case chan const continue default defer else fallthrough for func go goto if import \
            interface map package range return select struct switch type var",
        quotes: &[long("`"), quote("\""), quote("'")],
        ..C_LIKE
    },
    Language {
        names: &["swift"],
        words: "actor as async await break case catch class continue default defer do else enum \
            extension for func guard if import in init inout is let private protocol public return \
            self static struct super switch throw throws try var where while",
        quotes: &[long("\"\"\""), quote("\"")],
        ..C_LIKE
    },
    Language {
        names: &["zig"],
        words: "and break catch comptime const continue defer else enum errdefer error export extern fn \
            for if inline or orelse pub return struct switch test try union unreachable \
            usingnamespace var while",
        block: None,
        ..C_LIKE
    },
    Language {
        names: &["php"],
        words: "abstract as break case catch class const continue default echo else elseif extends final \
            fn for foreach function if implements interface match namespace new private protected \
            public return static switch throw trait try use while",
        comments: &["//", "#"],
        ..C_LIKE
    },
    Language {
        names: &["ruby", "rb", "elixir", "ex", "exs"],
        words: "alias and begin break case class def defmodule defp do else elsif end ensure fn for if \
            in module next not or redo rescue retry return self super then unless until use when \
            while with yield",
        ..SCRIPT
    },
    Language {
        names: &[
            "bash",
            "sh",
            "shell",
            "zsh",
            "fish",
            "console",
            "dockerfile",
            "make",
            "makefile",
            "mk",
        ],
        words: "break case cd continue do done echo elif else esac exit export fi for function if in \
            local return set shift source then trap unset until while FROM RUN COPY ADD ENV ARG \
            WORKDIR ENTRYPOINT CMD EXPOSE USER LABEL",
        quotes: &[long("\""), long("'")],
        ..SCRIPT
    },
    Language {
        names: &["lua"],
        words: "and break do else elseif end for function goto if in local not or repeat return then \
            until while",
        comments: &["--"],
        block: Some(("--[[", "]]")),
        ..C_LIKE
    },
    Language {
        names: &["haskell", "hs", "elm"],
        words: "case class data deriving do else if import in instance let module newtype of then type \
            where",
        comments: &["--"],
        block: Some(("{-", "-}")),
        quotes: &[quote("\"")],
        has_characters: true,
        ..C_LIKE
    },
    Language {
        names: &["sql", "sqlite", "postgresql", "psql", "mysql"],
        words: "add alter and as asc begin between by case commit create default delete desc distinct \
            drop else end exists foreign from group having if in index inner insert into is join key \
            left like limit not on or order outer primary references returning right rollback select \
            set table then trigger union unique update values view when where with",
        comments: &["--"],
        quotes: &[long("'"), quote("\"")],
        ignores_case: true,
        ..C_LIKE
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl"],
        quotes: &[quote("\"")],
        key_sign: Some(':'),
        ..C_LIKE
    },
    Language { names: &["yaml", "yml"], key_sign: Some(':'), ..SCRIPT },
    Language {
        names: &["toml", "ini", "conf", "cfg", "env", "properties", "nix", "hcl", "tf"],
        comments: &["#", ";"],
        key_sign: Some('='),
        quotes: &[long("\"\"\""), long("'''"), quote("\""), quote("'")],
        ..SCRIPT
    },
    Language { names: &["css", "scss", "less"], key_sign: Some(':'), comments: &[], ..C_LIKE },
    Language {
        names: &["html", "htm", "xml", "svg", "vue", "svelte"],
        comments: &[],
        block: Some(("<!--", "-->")),
        quotes: &[quote("\"")],
        key_sign: Some('='),
        ..C_LIKE
    },
];

/// The language that goes by a name: what stands behind a fence, the end of a file's name, or all of it.
pub(super) fn named(name: &str) -> Option<&'static Language> {
    // Behind a fence more may stand: `rust,ignore`, `js {1,3}`.
    let name = name.split([',', ' ', '{']).next().unwrap_or_default().to_ascii_lowercase();
    LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()))
}

/// The language of a file, by its name.
pub(super) fn of_file(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or_default();
    named(name.rsplit('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_languages() {
        let mut names: Vec<&str> =
            LANGUAGES.iter().flat_map(|known| known.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_language_is_known_by_its_fence_and_by_its_files() {
        assert!(named("Rust,ignore").is_some() && of_file("/srv/a.tsx").is_some());
        assert!(of_file("/srv/Makefile").is_some());
        assert!(named("").is_none() && named("text").is_none() && of_file("/srv/README").is_none());
    }
}
