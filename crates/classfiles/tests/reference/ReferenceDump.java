// Dumps the rules and results of the SPICE reference (SPICE 1.0 with CoreNLP 3.6.0) for ../reference.rs.
//
//   JARS="stanford-corenlp-3.6.0.jar:SceneGraphParser-1.0.jar:spice-1.0.jar:json-simple-1.1.1.jar"
//   javac -encoding UTF-8 -cp "$JARS" -d classes ReferenceDump.java
//   java -cp "classes:$JARS" edu.stanford.nlp.trees.ReferenceDump rules OUT
//   java -cp "classes:$JARS" edu.stanford.nlp.trees.ReferenceDump lemmas IN OUT
//   java -cp "classes:$JARS" edu.stanford.nlp.trees.ReferenceDump trees IN OUT
//
// made_up.py generates hard inputs for the last two commands.
//
// `rules` uses reflection to write the relations, head rules, patterns of tree rewriting, word lists and
// spellings as one JSON object. `lemmas` reads one JSON list [word, tag] per line and appends the lemma.
// `trees` reads one bracketed tree per line and writes, separated by tabs, the tree, the rewritten tree and
// the token numbers of its leaves (-1 for a node that lost its children).
package edu.stanford.nlp.trees;

import java.io.*;
import java.lang.reflect.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.Function;
import java.util.regex.*;
import edu.stanford.nlp.dcoref.Dictionaries;
import edu.stanford.nlp.ling.*;
import edu.stanford.nlp.process.Morphology;
import edu.stanford.nlp.semgraph.semgrex.SemgrexPattern;
import edu.stanford.nlp.trees.tregex.TregexPattern;
import org.json.simple.*;

public class ReferenceDump {
  public static void main(String[] args) throws Exception {
    try (PrintWriter out = new PrintWriter(new OutputStreamWriter(new FileOutputStream(args[args.length - 1]), StandardCharsets.UTF_8))) {
      switch (args[0]) {
        case "rules": out.println(JSONValue.toJSONString(rules())); break;
        case "lemmas": eachLine(args[1], out, lemmas()); break;
        case "trees": eachLine(args[1], out, ReferenceDump::rewritten); break;
        default: throw new IllegalArgumentException("expected rules, lemmas or trees, got " + args[0]);
      }
    }
  }

  static void eachLine(String path, PrintWriter out, Function<String, String> line) throws IOException {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(new FileInputStream(path), StandardCharsets.UTF_8))) {
      for (String text = in.readLine(); text != null; text = in.readLine()) out.println(line.apply(text));
    }
  }

  static Function<String, String> lemmas() throws Exception {
    Class<?> annotator = Class.forName("edu.stanford.nlp.pipeline.MorphaAnnotator");
    Method addLemma = Arrays.stream(annotator.getDeclaredMethods()).filter(m -> m.getName().equals("addLemma")).findFirst().get();
    addLemma.setAccessible(true);
    Morphology morphology = new Morphology();
    return line -> {
      JSONArray pair = (JSONArray) JSONValue.parse(line);
      CoreLabel label = new CoreLabel();
      try {
        addLemma.invoke(null, morphology, CoreAnnotations.LemmaAnnotation.class, label, pair.get(0), pair.get(1));
      } catch (ReflectiveOperationException error) {
        throw new IllegalStateException(line, error);
      }
      return JSONValue.toJSONString(Arrays.asList(pair.get(0), pair.get(1), label.lemma()));
    };
  }

  static String rewritten(String line) {
    try {
      Tree tree = new PennTreeReader(new StringReader(line), new LabeledScoredTreeFactory(CoreLabel.factory()), new TreeNormalizer()).readTree();
      tree.indexLeaves();
      TreeGraphNode copy = new TreeGraphNode(tree, (TreeGraphNode) null);
      Trees.setLeafLabels(copy, tree.yield());
      Tree result = new CoordinationTransformer(new UniversalSemanticHeadFinder(true), true).transformTree(copy);
      StringJoiner tokens = new StringJoiner(",");
      return line + "\t" + brackets(result, tokens) + "\t" + tokens;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  static String brackets(Tree tree, StringJoiner tokens) {
    if (tree.isLeaf()) {
      tokens.add(Integer.toString(((CoreLabel) tree.label()).index()));
      return tree.value();
    }
    StringBuilder text = new StringBuilder("(").append(tree.value());
    for (Tree child : tree.children()) text.append(' ').append(brackets(child, tokens));
    return text.append(')').toString();
  }

  static Map<String, Object> rules() throws Exception {
    Map<String, Object> rules = new TreeMap<>();
    List<Object> relations = new ArrayList<>();
    for (GrammaticalRelation relation : UniversalEnglishGrammaticalRelations.values()) {
      Map<String, Object> values = new TreeMap<>();
      values.put("short", relation.getShortName());
      values.put("specific", relation.getSpecific());
      values.put("parent", relation.getParent() == null ? null : relation.getParent().toString());
      values.put("source", plain(field(relation, "sourcePattern")));
      values.put("patterns", plain(field(relation, "targetPatterns")));
      relations.add(values);
    }
    rules.put("relations", relations);
    UniversalSemanticHeadFinder finder = new UniversalSemanticHeadFinder(true);
    Map<String, Object> heads = new TreeMap<>();
    heads.put("rules", plain(field(finder, "nonTerminalInfo")));
    for (String name : new String[] {"verbalAuxiliaries", "copulars", "passiveAuxiliaries", "verbalTags", "unambiguousAuxiliaryTags", "headOfCopulaTregex", "headOfConjpTregex", "noVerbOverTempTregex"}) {
      heads.put(name, plain(field(finder, name)));
    }
    rules.put("heads", heads);
    rules.put("english_patterns", Collections.singletonMap("NP_V_S_INF_VERBS_REGEX", EnglishPatterns.NP_V_S_INF_VERBS_REGEX));
    Map<String, Object> rewriting = new TreeMap<>();
    for (Class<?> step : new Class<?>[] {DependencyTreeTransformer.class, CoordinationTransformer.class, QPTreeTransformer.class, DateTreeTransformer.class}) {
      Map<String, Object> patterns = new TreeMap<>();
      for (Field field : step.getDeclaredFields()) {
        if (field.getType() == TregexPattern.class || field.getType() == TregexPattern[].class) patterns.put(field.getName(), plain(get(field, null)));
      }
      rewriting.put(step.getSimpleName(), patterns);
    }
    rules.put("rewriting", rewriting);
    rules.put("lists", lists());
    Map<Object, Object> spellings = new TreeMap<>((Map<?, ?>) fixed("edu.stanford.nlp.process.Americanize", "mapping"));
    spellings.putAll((Map<?, ?>) fixed("edu.stanford.nlp.process.Americanize", "timexMapping"));
    rules.put("spellings", spellings);
    return rules;
  }

  static Map<String, Object> lists() throws Exception {
    String structure = "edu.stanford.nlp.trees.UniversalEnglishGrammaticalStructure";
    Map<String, Object> lists = new TreeMap<>();
    lists.put("two_word_prepositions", plain(fixed(structure, "TWO_WORD_PREPS_REGULAR")));
    lists.put("two_word_prepositions_headed_by_first", plain(fixed(structure, "TWO_WORD_PREPS_COMPLEX")));
    lists.put("three_word_prepositions", plain(fixed(structure, "THREE_WORD_PREPS")));
    String enhancer = "edu.stanford.nlp.scenegraph.SemanticGraphEnhancer";
    lists.put("quantity_nouns", words((SemgrexPattern) fixed(enhancer, "QUANT_MOD_PATTERN")));
    lists.put("plural_quantities", words((SemgrexPattern) fixed(enhancer, "QUANT_MOD_PATTERN2")));
    lists.put("partitives", words((SemgrexPattern) fixed(enhancer, "QUANT_MOD_PATTERN3")));
    lists.put("singular_pronouns", plain(new Dictionaries().singularPronouns));
    lists.put("colors", plain(fixed("edu.anu.spice.TupleFilter", "commonColors")));
    lists.put("sizes", plain(fixed("edu.anu.spice.TupleFilter", "sizeAdjectives")));
    lists.put("numbers", plain(fixed("edu.anu.spice.TupleFilter", "smallNumbers")));
    return lists;
  }

  static List<String> words(SemgrexPattern pattern) {
    Matcher words = Pattern.compile("\\(\\?i:([^)]*)\\)").matcher(pattern.pattern());
    if (!words.find()) throw new IllegalStateException(pattern.pattern());
    return Arrays.asList(words.group(1).split("\\|"));
  }

  static Object fixed(String type, String name) throws Exception {
    return get(Class.forName(type).getDeclaredField(name), null);
  }

  static Object field(Object object, String name) throws Exception {
    for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
      for (Field field : type.getDeclaredFields()) {
        if (field.getName().equals(name)) return get(field, object);
      }
    }
    throw new NoSuchFieldException(name);
  }

  static Object get(Field field, Object object) throws Exception {
    field.setAccessible(true);
    return field.get(object);
  }

  /** Converts patterns to their text, and arrays and sets to lists. */
  static Object plain(Object value) {
    if (value instanceof TregexPattern) return ((TregexPattern) value).pattern();
    if (value instanceof Pattern) return ((Pattern) value).pattern();
    if (value instanceof Object[]) return plain(Arrays.asList((Object[]) value));
    if (value instanceof Collection) {
      List<Object> items = new ArrayList<>();
      for (Object item : (Collection<?>) value) items.add(plain(item));
      return items;
    }
    if (value instanceof Map) {
      Map<Object, Object> entries = new TreeMap<>();
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) entries.put(entry.getKey(), plain(entry.getValue()));
      return entries;
    }
    return value;
  }
}
