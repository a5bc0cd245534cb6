read_results <- function(path, text, report) {
  found <- jsonlite::fromJSON(path, simplifyDataFrame = TRUE)
  structure(
    list(
      metrics = flat(found$metrics), comparisons = flat(found$comparisons),
      warnings = flat(found$warnings), report = report, json = path, text = text
    ),
    class = "sg_evaluation"
  )
}

# A data frame without its nested columns; missing numbers are NA_real_ rather than logical.
flat <- function(table) {
  if (!is.data.frame(table)) {
    return(data.frame())
  }
  single <- vapply(table, function(x) is.atomic(x), logical(1))
  table <- table[single]
  empty <- vapply(table, function(x) is.logical(x) && all(is.na(x)), logical(1))
  table[empty] <- lapply(table[empty], as.numeric)
  table
}

as.data.frame.sg_evaluation <- function(x, row.names = NULL, optional = FALSE, ...) x$metrics

print.sg_evaluation <- function(x, ...) {
  cat(x$text, sep = "\n")
  invisible(x)
}
