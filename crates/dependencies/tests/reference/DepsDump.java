package edu.stanford.nlp.trees;
import java.io.*;
import java.lang.reflect.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.*;
import java.util.zip.*;
import org.json.simple.*;
import edu.stanford.nlp.ling.*;
import edu.stanford.nlp.trees.tregex.*;
import edu.stanford.nlp.util.Filters;

public class DepsDump {
  static Object field(Object o, Class<?> c, String n) throws Exception { Field f = c.getDeclaredField(n); f.setAccessible(true); return f.get(o); }
  static JSONArray arr(Collection<?> c) { JSONArray a = new JSONArray(); for (Object x : c) a.add(x.toString()); return a; }
  static JSONArray arr(Object[] c) { return arr(Arrays.asList(c)); }
  static void rules(String out) throws Exception {
    JSONObject o = new JSONObject(); JSONArray rels = new JSONArray();
    for (GrammaticalRelation r : UniversalEnglishGrammaticalRelations.values()) {
      JSONObject j = new JSONObject();
      j.put("name", r.toString()); j.put("parent", r.getParent() == null ? null : r.getParent().toString());
      Pattern sp = (Pattern) field(r, GrammaticalRelation.class, "sourcePattern"); j.put("source", sp == null ? null : sp.pattern());
      JSONArray ps = new JSONArray(); for (TregexPattern p : (List<TregexPattern>) field(r, GrammaticalRelation.class, "targetPatterns")) ps.add(p.pattern());
      j.put("patterns", ps); rels.add(j);
    }
    o.put("relations", rels);
    UniversalSemanticHeadFinder hf = new UniversalSemanticHeadFinder(true); Class<?> hc = UniversalSemanticHeadFinder.class;
    JSONObject t = new JSONObject();
    for (Map.Entry<String, String[][]> e : hf.nonTerminalInfo.entrySet()) { JSONArray a = new JSONArray(); for (String[] x : e.getValue()) a.add(arr(x)); t.put(e.getKey(), a); }
    JSONObject h = new JSONObject(); h.put("table", t);
    h.put("default_left", arr(hf.defaultLeftRule)); h.put("default_right", arr(hf.defaultRightRule));
    for (String n : new String[]{"verbalAuxiliaries","copulars","passiveAuxiliaries","verbalTags","unambiguousAuxiliaryTags"}) { h.put(n, arr(new TreeSet<Object>((Set<String>) field(hf, hc, n)))); }
    for (String n : new String[]{"headOfCopulaTregex","headOfConjpTregex"}) { JSONArray a = new JSONArray(); for (TregexPattern p : (TregexPattern[]) field(null, hc, n)) a.add(p.pattern()); h.put(n, a); }
    h.put("noVerbOverTempTregex", ((TregexPattern) field(null, hc, "noVerbOverTempTregex")).pattern());
    h.put("punctuation_tags", arr(new PennTreebankLanguagePack().punctuationTags()));
    o.put("heads", h);
    o.put("np_v_s_inf", EnglishPatterns.NP_V_S_INF_VERBS_REGEX);
    try (Writer w = new FileWriter(out)) { w.write(o.toJSONString()); }
  }
  // IN: one bracketed tree a line. Per line: tree after rewriting, leaf indices, heads, matches
  static void dump(String in, String out, boolean all) throws Exception {
    TreeFactory tf = new LabeledScoredTreeFactory(CoreLabel.factory());
    UniversalSemanticHeadFinder hf = new UniversalSemanticHeadFinder(true);
    BufferedReader r = new BufferedReader(new InputStreamReader(new FileInputStream(in), StandardCharsets.UTF_8));
    PrintWriter w = new PrintWriter(new OutputStreamWriter(new FileOutputStream(out), StandardCharsets.UTF_8));
    List<GrammaticalRelation> rels = new ArrayList<>(UniversalEnglishGrammaticalRelations.values());
    List<List<TregexPattern>> pats = new ArrayList<>();
    for (GrammaticalRelation g : rels) pats.add((List<TregexPattern>) field(g, GrammaticalRelation.class, "targetPatterns"));
    String l;
    while ((l = r.readLine()) != null) {
      Tree t = new PennTreeReader(new StringReader(l), tf, new TreeNormalizer()).readTree();
      t.indexLeaves();
      StringBuilder b = new StringBuilder(all ? "{\"all\":true," : "{");
      try {
      UniversalEnglishGrammaticalStructure gs = new UniversalEnglishGrammaticalStructure(t, Filters.acceptFilter(), hf, true);
      TreeGraphNode root = gs.root();
      IdentityHashMap<Tree,Integer> id = new IdentityHashMap<>(); int n = 0; for (Tree x : root) id.put(x, n++);
      b.append("\"tree\":\"").append(JSONValue.escape(text(root))).append("\",\"leaves\":[");
      boolean first = true;
      for (Tree x : root.getLeaves()) { if (!first) b.append(','); first = false; b.append(((TreeGraphNode) x).index()); }
      b.append("],\"heads\":["); first = true;
      for (Tree x : root) if (!x.isLeaf()) { if (!first) b.append(','); first = false;
        b.append('[').append(id.get(hf.determineHead(x, ((TreeGraphNode) x).parent()))).append(',').append(id.get(hf.determineHead(x))).append(']'); }
      b.append("],\"m\":["); first = true;
      for (Tree x : root) for (int i = 0; i < rels.size(); i++) { if (!all && (!x.isPhrasal() || !rels.get(i).isApplicable(x))) continue;
        for (int k = 0; k < pats.get(i).size(); k++) {
          TregexMatcher m = pats.get(i).get(k).matcher(root, hf); StringBuilder s = new StringBuilder();
          try { while (m.findAt(x)) { if (s.length() > 0) s.append(','); s.append(id.get(m.getNode("target"))); if (s.length() > 20000) break; } } catch (RuntimeException e) { s.append(s.length() > 0 ? "," : "").append("-1"); }
          if (s.length() > 0) { if (!first) b.append(','); first = false; b.append('[').append(i).append(',').append(k).append(',').append(id.get(x)).append(",[").append(s).append("]]"); }
        } }
      b.append("],\"deps\":["); first = true;
      List<TypedDependency> tds = new ArrayList<>(gs.typedDependencies(GrammaticalStructure.Extras.NONE)); Collections.sort(tds);
      for (TypedDependency d : tds) { if (!first) b.append(','); first = false; b.append("[\"").append(d.reln()).append("\",").append(d.gov().index()).append(',').append(d.dep().index()).append(']'); }
      b.append("]}");
      } catch (RuntimeException e) { b = new StringBuilder("{\"error\":\"").append(JSONValue.escape(e.toString())).append("\"}"); }
      w.println(b);
    }
    w.close();
  }
  static String text(Tree t) { if (t.isLeaf()) return t.value(); StringBuilder b = new StringBuilder("(").append(t.value()); for (Tree c : t.children()) b.append(' ').append(text(c)); return b.append(')').toString(); }
  public static void main(String[] a) throws Exception { if (a[0].equals("rules")) rules(a[1]); else dump(a[1], a[2], a[0].equals("all")); }
}
