# A JSON writer that keeps every double: jsonlite stops at 15 significant digits, and a
# reference value has to survive the trip into Python unchanged (17 digits do).

json_string <- function(x) encodeString(enc2utf8(x), quote = "\"")

json_atom <- function(x) {
  if (is.character(x)) return(json_string(x))
  if (is.logical(x)) return(ifelse(is.na(x), "null", ifelse(x, "true", "false")))
  if (is.integer(x)) return(ifelse(is.na(x), "null", sprintf("%d", x)))
  # NaN and infinity do not exist in JSON; none of the values here may be either.
  stopifnot(is.numeric(x), all(is.finite(x) | is.na(x)))
  ifelse(is.na(x), "null", sprintf("%.17g", x))
}

# Mark a length-one vector that must stay an array.
as_array <- function(x) structure(list(value = x), class = "json_array")

to_json <- function(x, indent = 0) {
  pad <- strrep(" ", indent + 1)
  if (inherits(x, "json_array")) {
    return(paste0("[", paste(json_atom(x$value), collapse = ","), "]"))
  }
  if (is.matrix(x)) {
    rows <- apply(x, 1, function(row) paste0("[", paste(json_atom(row), collapse = ","), "]"))
    return(paste0("[\n", paste0(pad, rows, collapse = ",\n"), "]"))
  }
  if (is.list(x)) {
    parts <- vapply(x, to_json, "", indent = indent + 1)
    if (is.null(names(x))) return(paste0("[\n", paste0(pad, parts, collapse = ",\n"), "]"))
    parts <- paste0(pad, json_string(names(x)), ": ", parts)
    return(paste0("{\n", paste(parts, collapse = ",\n"), "}"))
  }
  if (length(x) == 1) return(json_atom(unname(x)))
  paste0("[", paste(json_atom(unname(x)), collapse = ","), "]")
}

write_json17 <- function(x, path) writeLines(to_json(x), path)

package_versions <- function(packages) {
  versions <- lapply(packages, function(p) as.character(packageVersion(p)))
  c(list(R = paste(R.version$major, R.version$minor, sep = ".")), setNames(versions, packages))
}
