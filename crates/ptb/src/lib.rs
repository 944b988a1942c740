//! Stand-in until the tokenizer is merged.
#[derive(Clone, Copy)]
pub enum Punctuation {
    Reference,
    Paper,
    Keep,
}
#[derive(Clone, Copy)]
pub struct Options {
    pub lowercase: bool,
    pub punctuation: Punctuation,
}
pub struct Tokenizer(Options);
impl Tokenizer {
    pub fn new(o: Options) -> Self {
        Self(o)
    }
    pub fn tokenize_into(&mut self, t: &str, sink: &mut dyn FnMut(&str)) {
        let _ = self.0;
        t.split_whitespace().for_each(sink)
    }
}
