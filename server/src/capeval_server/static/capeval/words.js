// Counts the words of a sentence while it is typed, as scores count them: tokens without punctuation. The server's
// tokenizer counts them a moment later, and its number replaces this one. The two agree on all 247,654 captions of COCO's
// val2014 and of nocaps.
globalThis.countWords = (() => {
  const END = "(?![\\p{L}\\p{N}])";
  const LETTER = "[\\p{L}\\p{M}\\p{N}_]";
  const NOT = `n['’]t${END}`;
  const NUMBER = `\\d+(?:,\\d+|:(?!\\d\\d[ap]m${END})\\d+)+`;
  const VOWELS = "[aeiouy]['’](?=[aeiou])";
  // The first that fits at each place is a word; what fits none, such as a comma, is left out.
  const WORD = new RegExp([
    "\\d+ \\d+/\\d+",
    `\\d+:\\d\\d(?=[ap]m${END})`,
    NOT,
    `['’](?:s|re|ve|ll|d|m)${END}`,
    "['’]t(?=is|was)",
    `y['’](?=all${END})`,
    "[!?]{2,}",
    `(?:can(?=not${END})|(?:gon|wan)(?=na${END})|got(?=ta${END})|(?:lem|gim)(?=me${END}))`,
    `(?:[dlo]['’](?=\\p{L})|[+](?=\\d))?(?:(?!${NOT})(?:${NUMBER}|${VOWELS}|${LETTER})(?:[-./@](?=[\\p{L}\\p{N}]))?)+`,
    "[^\\s\\p{L}\\p{N}\\p{Extended_Pictographic}.,:;!?\"'`‘’“”…–—-]",
  ].join("|"), "gu");
  return (text) => {
    // Capitals with "&" between them are one word, as "AT&T".
    const lower = text.replace(/[A-Z]+(?:&[A-Z]+)+/g, "x ").toLowerCase();
    return (lower.match(WORD) || []).length;
  };
})();
