pub struct Cache(Vec<(String, u64)>);

impl Cache {
    pub fn insert(&mut self, key: String, value: u64) {
        if self.0.len() > 100 {
            self.evict();
        }
        self.0.push((key, value));
    }

    fn evict(&mut self) {
        self.0.remove(0);
    }
}
