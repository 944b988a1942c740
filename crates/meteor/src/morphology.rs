//! Base forms of English words by WordNet's suffix rules.

/// Suffixes and replacements in WordNet's order: nouns, verbs, adjectives.
const RULES: [(&str, &str); 20] = [
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("s", ""),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
];

/// Returns possible base forms, best first. METEOR uses the first one that has synsets.
///
/// Words of one or two UTF-16 units and words in "-ss" are their own base form.
pub(crate) fn base_candidates(word: &str) -> impl Iterator<Item = String> + '_ {
    let own = word.ends_with("ss") || word.encode_utf16().nth(2).is_none();
    let rules = if own { &[][..] } else { &RULES[..] };
    let bases = rules.iter().filter_map(move |(suffix, replacement)| {
        let stem = word.strip_suffix(suffix)?;
        Some([stem, replacement].concat())
    });
    own.then(|| word.to_owned()).into_iter().chain(bases)
}
