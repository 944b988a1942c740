// Dumps CoreNLP 3.6.0's results for constituent trees, for ../conformance.rs.
//
//   javac -cp "stanford-corenlp-3.6.0.jar:json-simple-1.1.1.jar" -d classes DepsDump.java
//   java -cp "classes:stanford-corenlp-3.6.0.jar:json-simple-1.1.1.jar" edu.stanford.nlp.trees.DepsDump TREES OUT [all]
//
// TREES has one bracketed tree per line. A line of OUT is a JSON object: `tree` after rewriting, `leaves`
// (the token number of each leaf), `heads` (the head child of each inner node in pre-order, with and without
// regard to the parent), `m` (matches: relation, pattern, node, targets in order) and `deps`, the basic
// dependencies. Nodes are numbered in pre-order. With `all`, each pattern is tried at each node, and not
// only at the nodes that its relation allows.
package edu.stanford.nlp.trees;

import java.io.*;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.*;
import edu.stanford.nlp.ling.CoreLabel;
import edu.stanford.nlp.trees.tregex.*;
import edu.stanford.nlp.util.Filters;
import org.json.simple.JSONValue;

public class DepsDump {
  static final UniversalSemanticHeadFinder HEADS = new UniversalSemanticHeadFinder(true);
  static final List<GrammaticalRelation> RELATIONS = new ArrayList<>(UniversalEnglishGrammaticalRelations.values());

  public static void main(String[] args) throws Exception {
    boolean all = args.length > 2;
    TreeFactory trees = new LabeledScoredTreeFactory(CoreLabel.factory());
    try (BufferedReader in = new BufferedReader(new InputStreamReader(new FileInputStream(args[0]), StandardCharsets.UTF_8));
         PrintWriter out = new PrintWriter(new OutputStreamWriter(new FileOutputStream(args[1]), StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        Tree tree = new PennTreeReader(new StringReader(line), trees, new TreeNormalizer()).readTree();
        tree.indexLeaves();
        Map<String, Object> record = new LinkedHashMap<>();
        record.put("all", all);
        try {
          describe(new UniversalEnglishGrammaticalStructure(tree, Filters.acceptFilter(), HEADS, true), all, record);
        } catch (RuntimeException error) {
          record.put("error", error.toString());
        }
        out.println(JSONValue.toJSONString(record));
      }
    }
  }

  static void describe(UniversalEnglishGrammaticalStructure structure, boolean all, Map<String, Object> record) throws Exception {
    TreeGraphNode root = structure.root();
    Map<Tree, Integer> number = new IdentityHashMap<>();
    for (Tree node : root) number.put(node, number.size());
    record.put("tree", text(root));
    List<Object> leaves = new ArrayList<>(), heads = new ArrayList<>(), dependencies = new ArrayList<>();
    for (Tree leaf : root.getLeaves()) leaves.add(((TreeGraphNode) leaf).index());
    for (Tree node : root) {
      if (node.isLeaf()) continue;
      Tree head = HEADS.determineHead(node, ((TreeGraphNode) node).parent());
      heads.add(Arrays.asList(number.get(head), number.get(HEADS.determineHead(node))));
    }
    List<TypedDependency> typed = new ArrayList<>(structure.typedDependencies(GrammaticalStructure.Extras.NONE));
    Collections.sort(typed);
    for (TypedDependency d : typed) dependencies.add(Arrays.asList(d.reln().toString(), d.gov().index(), d.dep().index()));
    record.put("leaves", leaves);
    record.put("heads", heads);
    record.put("m", matches(root, number, all));
    record.put("deps", dependencies);
  }

  static List<Object> matches(TreeGraphNode root, Map<Tree, Integer> number, boolean all) throws Exception {
    List<Object> found = new ArrayList<>();
    for (Tree node : root) {
      for (int r = 0; r < RELATIONS.size(); r++) {
        if (!all && !(node.isPhrasal() && RELATIONS.get(r).isApplicable(node))) continue;
        List<TregexPattern> patterns = patterns(RELATIONS.get(r));
        for (int p = 0; p < patterns.size(); p++) {
          List<Object> targets = new ArrayList<>();
          TregexMatcher matcher = patterns.get(p).matcher(root, HEADS);
          while (matcher.findAt(node)) targets.add(number.get(matcher.getNode("target")));
          if (!targets.isEmpty()) found.add(Arrays.asList(r, p, number.get(node), targets));
        }
      }
    }
    return found;
  }

  @SuppressWarnings("unchecked")
  static List<TregexPattern> patterns(GrammaticalRelation relation) throws Exception {
    Field field = GrammaticalRelation.class.getDeclaredField("targetPatterns");
    field.setAccessible(true);
    return (List<TregexPattern>) field.get(relation);
  }

  static String text(Tree tree) {
    if (tree.isLeaf()) return tree.value();
    StringBuilder text = new StringBuilder("(").append(tree.value());
    for (Tree child : tree.children()) text.append(' ').append(text(child));
    return text.append(')').toString();
  }
}
