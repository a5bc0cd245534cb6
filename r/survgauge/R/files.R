# Numbers as text that is read back as the same number.
digits17 <- function(x) {
  text <- sprintf("%.17g", x)
  text[is.na(x)] <- "NA"
  text[!is.na(x) & is.infinite(x)] <- ifelse(x[!is.na(x) & is.infinite(x)] > 0, "inf", "-inf")
  text
}

# The same, as short as it can be: headers and options are read by people, too.
short_digits <- function(x) {
  text <- sprintf("%.15g", x)
  longer <- is.na(suppressWarnings(as.numeric(text))) | as.numeric(text) != x
  text[longer] <- digits17(x[longer])
  text
}

write_table <- function(table, path) {
  is_text <- !vapply(table, function(x) is.numeric(x) || is.logical(x), logical(1))
  table[!is_text] <- lapply(table[!is_text], function(x) digits17(as.numeric(x)))
  table[is_text] <- lapply(table[is_text], as.character)
  # Names of columns are quoted only where some column is.
  quote <- if (any(is_text)) which(is_text) else FALSE
  utils::write.table(
    table, path, sep = ",", quote = quote, qmethod = "double", na = "NA", row.names = FALSE,
    fileEncoding = "UTF-8"
  )
}

write_curves <- function(values, times, path) {
  table <- as.data.frame(values)
  names(table) <- short_digits(times)
  write_table(table, path)
}

# Names that every file system takes. Numbers keep "a b", "a_b" and "A b" apart.
file_names <- function(names, from) {
  paste0("predicted_", from + seq_along(names), "_", gsub("[^A-Za-z0-9_.-]+", "_", names), ".csv")
}

# Columns of outcomes of a Surv object, as survgauge reads them.
outcome_table <- function(y, name) {
  if (!survival::is.Surv(y)) {
    refuse(name, " must be made by survival::Surv(); got an object of class ", shown(class(y)))
  }
  type <- attr(y, "type")
  values <- unclass(y)
  missing <- which(rowSums(is.na(values[, colnames(values) != "time2", drop = FALSE])) > 0)
  if (length(missing) > 0) {
    refuse(name, " must have no missing values; got NA in row ", missing[[1]])
  }
  column <- function(k) as.numeric(values[, k])
  switch(type,
    right = , mright = data.frame(time = column("time"), event = column("status")),
    counting = , mcounting = data.frame(
      entry = column("start"), time = column("stop"), event = column("status")
    ),
    interval = interval_table(column("time1"), column("time2"), column("status")),
    refuse(
      name, " has outcomes of type '", type, "'; survgauge supports right-censored outcomes, delayed ",
      "entry, interval censoring and competing risks"
    )
  )
}

# status of Surv(type = "interval"): 0 right-censored, 1 event, 2 left-censored, 3 interval.
interval_table <- function(first, second, status) {
  data.frame(
    lower = ifelse(status == 2, 0, first),
    upper = ifelse(status == 0, Inf, ifelse(status == 3, second, first))
  )
}

# Names of the causes; NULL where there is one kind of event.
causes_of <- function(y) {
  states <- attr(y, "states")
  if (length(states) > 1) states else NULL
}
