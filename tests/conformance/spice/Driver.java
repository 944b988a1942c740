package edu.anu.spice;

import edu.stanford.nlp.ling.CoreAnnotations;
import edu.stanford.nlp.ling.CoreLabel;
import edu.stanford.nlp.ling.IndexedWord;
import edu.stanford.nlp.pipeline.Annotation;
import edu.stanford.nlp.pipeline.StanfordCoreNLP;
import edu.stanford.nlp.scenegraph.SemanticGraphEnhancer;
import edu.stanford.nlp.semgraph.SemanticGraph;
import edu.stanford.nlp.semgraph.SemanticGraphCoreAnnotations.BasicDependenciesAnnotation;
import edu.stanford.nlp.semgraph.SemanticGraphCoreAnnotations.CollapsedCCProcessedDependenciesAnnotation;
import edu.stanford.nlp.semgraph.SemanticGraphEdge;
import edu.stanford.nlp.trees.Tree;
import edu.stanford.nlp.trees.TreeCoreAnnotations.TreeAnnotation;
import edu.stanford.nlp.util.CoreMap;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.function.Function;
import org.json.simple.JSONArray;
import org.json.simple.JSONObject;
import org.json.simple.JSONValue;

/**
 * Runs SPICE's reference on captions and writes what it makes of them. It is in the reference's package because
 * the methods that it calls are open to that package alone.
 *
 * <pre>
 * stages IN OUT      IN: a caption a line, as a JSON string. OUT: every stage, a JSON object a line.
 * counts IN OUT      IN: a line an image, {"test": caption, "refs": [captions]}. OUT: counts by category.
 * time IN ROUNDS     Seconds from captions to tuples on all processors, a line a round; the first warms up.
 * </pre>
 */
public final class Driver {
  private static final Map<String, TupleFilter> CATEGORIES = new LinkedHashMap<>();

  static {
    CATEGORIES.put("All", TupleFilter.noFilter);
    CATEGORIES.put("Object", TupleFilter.objectFilter);
    CATEGORIES.put("Attribute", TupleFilter.attributeFilter);
    CATEGORIES.put("Relation", TupleFilter.relationFilter);
    CATEGORIES.put("Color", TupleFilter.colorFilter);
    CATEGORIES.put("Size", TupleFilter.sizeFilter);
    CATEGORIES.put("Count", TupleFilter.cardinalityFilter);
  }

  private final SpiceParser parser = new SpiceParser(null, Runtime.getRuntime().availableProcessors(), true);

  public static void main(String[] arguments) throws IOException {
    Driver driver = new Driver();
    Path in = Path.of(arguments[1]);
    switch (arguments[0]) {
      case "stages" -> {
        Properties properties = new Properties();
        properties.setProperty("annotators", "tokenize, ssplit, parse, lemma");
        StanfordCoreNLP pipeline = new StanfordCoreNLP(properties);
        eachLine(in, Path.of(arguments[2]), line -> driver.stages(pipeline, (String) JSONValue.parse(line)));
      }
      case "counts" -> eachLine(in, Path.of(arguments[2]), line -> driver.counts((JSONObject) JSONValue.parse(line)));
      case "time" -> driver.time(in, Integer.parseInt(arguments[2]));
      case "times" -> driver.times(in);
      default -> throw new IllegalArgumentException("expected stages, counts, time or times");
    }
  }

  private static void eachLine(Path in, Path out, Function<String, Map<String, Object>> row) throws IOException {
    try (PrintWriter writer = new PrintWriter(Files.newBufferedWriter(out))) {
      for (String line : Files.readAllLines(in)) {
        writer.println(JSONValue.toJSONString(row.apply(line)));
      }
    }
  }

  private Map<String, Object> stages(StanfordCoreNLP pipeline, String caption) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("c", caption);
    try {
      Annotation annotation = new Annotation(caption);
      pipeline.annotate(annotation);
      List<Object> sentences = new ArrayList<>();
      for (CoreMap sentence : annotation.get(CoreAnnotations.SentencesAnnotation.class)) {
        sentences.add(sentence(sentence));
      }
      row.put("s", sentences);
      // Reading tuples rewrites the graphs, so it comes last.
      row.put("tu", parser.parseAnnotation(annotation).tuples);
    } catch (RuntimeException | StackOverflowError error) {
      row.put("error", error.toString());
    }
    return row;
  }

  private static Map<String, Object> sentence(CoreMap sentence) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("t", words(sentence, CoreLabel::word));
    row.put("p", words(sentence, CoreLabel::tag));
    row.put("l", words(sentence, CoreLabel::lemma));
    Tree tree = sentence.get(TreeAnnotation.class);
    row.put("sc", tree.score());
    row.put("tree", tree.toString());
    row.put("b", edges(sentence.get(BasicDependenciesAnnotation.class)));
    SemanticGraph processed = sentence.get(CollapsedCCProcessedDependenciesAnnotation.class);
    row.put("cc", edges(processed));
    SemanticGraph rewritten = new SemanticGraph(processed);
    SemanticGraphEnhancer.processQuanftificationModifiers(rewritten);
    SemanticGraphEnhancer.collapseCompounds(rewritten);
    SemanticGraphEnhancer.collapseParticles(rewritten);
    SemanticGraphEnhancer.resolvePronouns(rewritten);
    row.put("en", edges(rewritten));
    return row;
  }

  private static List<String> words(CoreMap sentence, Function<CoreLabel, String> form) {
    List<String> forms = new ArrayList<>();
    for (CoreLabel word : sentence.get(CoreAnnotations.TokensAnnotation.class)) {
      forms.add(form.apply(word));
    }
    return forms;
  }

  private static List<Object> edges(SemanticGraph graph) {
    List<Object> edges = new ArrayList<>();
    for (IndexedWord root : new TreeSet<>(graph.getRoots())) {
      edges.add(List.of("root", 0, number(root)));
    }
    for (SemanticGraphEdge edge : graph.edgeListSorted()) {
      edges.add(List.of(edge.getRelation().toString(), number(edge.getGovernor()), number(edge.getDependent())));
    }
    return edges;
  }

  private static Object number(IndexedWord word) {
    return word.copyCount() == 0 ? (Object) word.index() : word.index() + "." + word.copyCount();
  }

  private Map<String, Object> counts(JSONObject image) {
    List<String> captions = new ArrayList<>(List.of((String) image.get("test")));
    for (Object reference : (JSONArray) image.get("refs")) {
      captions.add((String) reference);
    }
    List<SceneGraph> graphs = parser.parseCaptions(captions, List.of(1, captions.size() - 1));
    SpiceStats statistics = new SpiceStats(CATEGORIES, false);
    statistics.score(0, graphs.get(0), graphs.get(1), true);
    Map<String, Object> counts = new LinkedHashMap<>();
    for (String category : CATEGORIES.keySet()) {
      Evaluation found = statistics.scores.get(0).get(category);
      counts.put(category, List.of(found.tp, found.fp, found.fn));
    }
    return Map.of("test", image.get("test"), "refs", image.get("refs"), "s", counts);
  }

  private static List<String> captions(Path in) throws IOException {
    List<String> captions = new ArrayList<>();
    for (String line : Files.readAllLines(in)) {
      captions.add((String) JSONValue.parse(line));
    }
    return captions;
  }

  private void times(Path in) throws IOException {
    for (String caption : captions(in)) {
      long start = System.nanoTime();
      parser.generateTuples(List.of(caption));
      System.out.println((System.nanoTime() - start) / 1e9);
    }
  }

  private void time(Path in, int rounds) throws IOException {
    List<String> captions = captions(in);
    for (int round = 0; round < rounds; round++) {
      long start = System.nanoTime();
      parser.generateTuples(captions);
      System.out.println((System.nanoTime() - start) / 1e9);
    }
  }
}
