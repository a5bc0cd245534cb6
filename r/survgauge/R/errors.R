# Errors are conditions of class survgauge_error, whether R or the command finds them.
refuse <- function(...) {
  stop(structure(
    class = c("survgauge_error", "error", "condition"),
    list(message = paste0(...), call = NULL)
  ))
}

shown <- function(x) paste(x, collapse = ", ")
