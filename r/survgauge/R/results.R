read_results <- function(path, text, report) {
  if (!file.exists(path)) {
    refuse(shown(sg_command()), " ended without results; is it the command survgauge?")
  }
  found <- jsonlite::fromJSON(path, simplifyDataFrame = TRUE)
  structure(
    list(
      metrics = flat(found$metrics), comparisons = flat(found$comparisons),
      warnings = flat(found$warnings), report = report, json = path, text = in_words_of_r(text)
    ),
    class = "sg_evaluation"
  )
}

# Options of the command by the arguments of R, and where everything is.
in_words_of_r <- function(text) {
  text <- paste(text, collapse = "\n")
  text <- gsub("--features\\b", "X_train and X_test", text)
  text <- gsub("--sample-weight\\b", "sample_weight", text)
  text <- gsub("--(tau|time|metrics|by|train|cluster)\\b", "\\1", text)
  text <- sub(";\\s+report:\\s+--html\\s+FILE", "", text)
  text <- sub("everything:\\s+--all\\b", "everything: $metrics, $comparisons, $warnings", text)
  strsplit(text, "\n", fixed = TRUE)[[1]]
}

# A data frame without its nested columns; missing numbers are NA_real_ rather than logical. JSON has
# "inf" for infinity, for which jsonlite makes text of all numbers of the column.
flat <- function(table) {
  if (!is.data.frame(table)) {
    return(data.frame())
  }
  infinite <- vapply(table, function(x) is.character(x) && any(x %in% c("inf", "-inf")), logical(1))
  table[infinite] <- lapply(table[infinite], utils::type.convert, as.is = TRUE)
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
