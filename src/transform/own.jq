# What jq has and jaq leaves out.
def INDEX(stream; f): reduce stream as $row ({}; . + {($row | f | tostring): $row});
def INDEX(f): INDEX(.[]; f);
def IN(source): any(source == .; .);
def IN(source; s): any(source == s; .);
def toarray: if isarray then . else [.] end;
def leaf_paths: paths(scalars);
def date: todate;
def cell_of(format; f):
  if isstring then f
  elif . == null then ""
  elif isarray or isobject then error("cannot use \(.) as a cell of " + format)
  else tostring end;
def @csv: map(cell_of("@csv"; "\"" + gsub("\""; "\"\"") + "\"")) | join(",");
def @tsv: map(cell_of("@tsv"; gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r"))) | join("\t");
