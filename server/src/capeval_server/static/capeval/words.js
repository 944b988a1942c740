// Counts the words of a sentence while it is typed, like the metrics: tokens without punctuation. A moment later, the
// count of the server's tokenizer replaces this one. Both agree on all 247,654 captions of COCO val2014 and nocaps.
globalThis.countWords = (() => {
  const END = "(?![\\p{L}\\p{N}])";
  const LETTER = "[\\p{L}\\p{M}\\p{N}_]";
  const NOT = `n['’]t${END}`;
  const NUMBER = `\\d+(?:,\\d+|:(?!\\d\\d[ap]m${END})\\d+)+`;
  const VOWELS = "[aeiouy]['’](?=[aeiou])";
  // The first alternative that matches is a word. Characters that match none, such as commas, are not counted.
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
    // Capitals joined by "&", such as "AT&T", are one word.
    const lower = text.replace(/[A-Z]+(?:&[A-Z]+)+/g, "x ").toLowerCase();
    return (lower.match(WORD) || []).length;
  };
})();
