sg_evaluate <- function(predictions, y, times = NULL, train = NULL, cause = NULL, time = NULL,
                        tau = NULL, metrics = NULL, unit = NULL, by = NULL, cluster = NULL,
                        sample_weight = NULL, X_train = NULL, X_test = NULL, interpolation = NULL,
                        report = tempfile("survgauge-", fileext = ".html"), args = character(),
                        folder = tempfile("survgauge-")) {
  report <- if (is.null(report)) NULL else whole_path(report)
  folder <- new_folder(folder)
  arguments <- write_inputs(
    predictions, y, times, train, cause, by, cluster, sample_weight, X_train, X_test, interpolation,
    folder
  )
  arguments <- c(
    arguments, option_words(time, tau, metrics, unit), option_word("--html", report),
    "--json", "results.json", args
  )
  text <- run_command(c("evaluate", arguments), folder)
  read_results(file.path(folder, "results.json"), text, report)
}

sg_study <- function(predictions, y, out, times = NULL, train = NULL, cause = NULL, time = NULL,
                     tau = NULL, metrics = NULL, unit = NULL, by = NULL, cluster = NULL,
                     sample_weight = NULL, X_train = NULL, X_test = NULL, interpolation = NULL,
                     reference = NULL, threshold = NULL, describe = NULL, describe_train = NULL,
                     overwrite = FALSE, args = character(), folder = tempfile("survgauge-")) {
  out <- whole_path(out)
  folder <- new_folder(folder)
  arguments <- write_inputs(
    predictions, y, times, train, cause, by, cluster, sample_weight, X_train, X_test, interpolation,
    folder, describe, describe_train
  )
  arguments <- c(
    arguments, option_words(time, tau, metrics, unit), option_word("--reference", reference),
    option_word("--threshold", short_digits(threshold)), option_word("--describe", names(describe)),
    "--out", out, if (overwrite) "--overwrite", args
  )
  text <- run_command(c("study", arguments), folder)
  read_results(file.path(out, "results.json"), text, file.path(out, "report.html"))
}

new_folder <- function(folder) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  if (!dir.exists(folder)) {
    refuse("the folder ", folder, " could not be made")
  }
  normalizePath(folder)
}

# Write the files of an evaluation; return the arguments that name them.
write_inputs <- function(predictions, y, times, train, cause, by, cluster, sample_weight, X_train,
                         X_test, interpolation, folder, describe = NULL, describe_train = NULL) {
  models <- read_predictions(predictions, times)
  causes <- asked_causes(y, train, cause)
  c(
    write_outcomes(y, train, by, cluster, sample_weight, folder, describe, describe_train),
    write_predictions(models, causes, folder),
    write_features(X_train, X_test, folder),
    if (!is.null(causes)) c("--cause", as.character(cause), "--causes", paste(causes, collapse = ",")),
    interpolation_words(models, interpolation)
  )
}

option_words <- function(time, tau, metrics, unit) {
  if (!is.null(tau)) {
    check_one(tau, "tau", is.numeric(tau), "a number")
  }
  if (!is.null(unit)) {
    check_one(unit, "unit", is.character(unit), "a word, such as \"days\"")
  }
  if (!is.null(time) && (!is.numeric(time) || anyNA(time))) {
    refuse("time must be numbers; got ", shown(time))
  }
  c(
    option_word("--time", short_digits(time)), option_word("--tau", short_digits(tau)),
    option_word("--metrics", metrics), option_word("--unit", unit)
  )
}

check_one <- function(x, name, right, wanted) {
  if (!right || length(x) != 1 || is.na(x)) {
    refuse(name, " must be ", wanted, "; got ", shown(x))
  }
}

option_word <- function(option, values) {
  if (length(values) == 0) NULL else c(option, paste(values, collapse = ","))
}

# A list of models, or one model alone.
read_predictions <- function(predictions, times) {
  if (!identical(class(predictions), "list")) {
    predictions <- list(model = predictions)
  }
  names <- names(predictions)
  if (is.null(names) || anyNA(names) || any(!nzchar(names)) || anyDuplicated(names)) {
    refuse("predictions must be a list with a different name for each model")
  }
  if (any(grepl("=", names, fixed = TRUE))) {
    refuse("the name of a model must not have '='; got ", grep("=", names, fixed = TRUE, value = TRUE)[[1]])
  }
  Map(function(x, name) {
    tryCatch(
      sg_prediction(x, times = times),
      survgauge_error = function(e) refuse("predictions$", name, ": ", conditionMessage(e))
    )
  }, predictions, names)
}

# Names of the causes that the command is told; NULL where there is one kind of event.
asked_causes <- function(y, train, cause) {
  causes <- causes_of(y)
  in_train <- if (is.null(train)) causes else causes_of(train)
  if (!identical(in_train, causes)) {
    levels <- vapply(list(in_train, causes), function(x) if (is.null(x)) "one kind of event" else shown(x), "")
    refuse("train and y must have the same levels of events; got ", levels[[1]], " and ", levels[[2]])
  }
  if (is.null(causes) && is.null(cause)) {
    return(NULL)
  }
  if (is.null(causes)) {
    refuse("cause is for competing risks: y must be Surv(time, event) with a factor of several events")
  }
  if (is.null(cause)) {
    refuse("y has events of ", length(causes), " causes (", shown(causes), "): say with cause which of them is meant")
  }
  check_one(cause, "cause", is.atomic(cause), paste("one of", shown(causes)))
  if (any(grepl("[,:=]", causes))) {
    refuse("the names of causes must not have commas, colons or '='; got ", shown(causes))
  }
  causes
}

write_outcomes <- function(y, train, by, cluster, sample_weight, folder, describe = NULL,
                           describe_train = NULL) {
  test <- outcome_table(y, "y")
  groups <- if (is.null(by) || is.data.frame(by)) by else data.frame(group = by)
  columns <- c(
    as.list(groups), if (!is.null(cluster)) list(.cluster = cluster),
    if (!is.null(sample_weight)) list(.weight = sample_weight)
  )
  for (name in names(columns)) {
    gap <- which(is.na(columns[[name]]))
    if (length(gap) > 0) {
      refuse(argument_of(name), " must have no missing values; got NA in row ", gap[[1]])
    }
  }
  test <- with_columns(test, columns, "by", "subjects")
  known <- setdiff(names(describe), names(groups))  # a column may be both
  test <- with_columns(test, as.list(describe)[known], "describe", "subjects")
  write_table(test, file.path(folder, "test.csv"))
  if (!is.null(train)) {
    table <- outcome_table(train, "train")
    table <- with_columns(table, as.list(describe_train), "describe_train", "training subjects")
    write_table(table, file.path(folder, "train.csv"))
  }
  c(
    "--test", "test.csv", if (!is.null(train)) c("--train", "train.csv"),
    unlist(lapply(names(groups), function(name) c("--by", name))),
    if (!is.null(cluster)) c("--cluster", ".cluster"),
    if (!is.null(sample_weight)) c("--sample-weight", ".weight")
  )
}

# The argument that gave a column; groups have names of their own, but for a vector.
argument_of <- function(column) {
  switch(column, .cluster = "cluster", .weight = "sample_weight", group = "by", column)
}

# Outcomes with columns beside them, which the argument `called` gave.
with_columns <- function(table, columns, called, whom) {
  taken <- intersect(names(columns), c(names(table), "weight"))
  if (length(taken) > 0) {
    refuse(called, " must not have a column '", taken[[1]], "': that is a column of the outcomes")
  }
  for (name in names(columns)) {
    if (length(columns[[name]]) != nrow(table)) {
      refuse(
        argument_of(name), " must have a value for each subject; got ", length(columns[[name]]),
        " values and ", nrow(table), " ", whom
      )
    }
    table[[name]] <- columns[[name]]
  }
  table
}

write_predictions <- function(models, causes, folder) {
  words <- character()
  for (name in names(models)) {
    model <- models[[name]]
    if (model$kind == "survival" && !is.null(causes)) {
      refuse(
        "predictions$", name, " has one matrix, and y has several causes: give a list with a matrix of ",
        "cumulative incidence for each of ", shown(causes)
      )
    }
    parts <- if (model$kind == "incidence") incidence_parts(model, causes, name) else list(model$values)
    labels <- if (model$kind == "incidence") paste0(name, ":", names(parts)) else name
    files <- file_names(labels, from = length(words))
    for (k in seq_along(parts)) {
      path <- file.path(folder, files[[k]])
      if (model$kind %in% c("time", "risk")) {
        write_table(stats::setNames(data.frame(parts[[k]]), model$kind), path)
      } else {
        write_curves(parts[[k]], model$times, path)
      }
    }
    words <- c(words, paste0("--pred=", labels, "=", files))
  }
  words
}

# The matrices of a model under the codes of their causes.
incidence_parts <- function(model, causes, name) {
  if (is.null(causes)) {
    refuse("predictions$", name, " has one matrix per cause, and y has one kind of event")
  }
  given <- names(model$values)
  codes <- match(given, causes)
  # Codes may stand for names, unless they are names.
  codes[is.na(codes)] <- match(given[is.na(codes)], as.character(seq_along(causes)))
  if (anyNA(codes)) {
    refuse("predictions$", name, " has a cause '", given[is.na(codes)][[1]], "', and y has ", shown(causes))
  }
  without <- setdiff(causes, causes[codes])
  if (length(without) > 0) {
    refuse(
      "predictions$", name, " has no matrix for the cause '", without[[1]], "': give one; of a model ",
      "of one cause, such as Fine and Gray's, a matrix of zeros"
    )
  }
  names(model$values) <- causes[codes]
  model$values
}

write_features <- function(X_train, X_test, folder) {
  if (is.null(X_train) && is.null(X_test)) {
    return(NULL)
  }
  if (is.null(X_test)) {
    refuse("X_train needs X_test: the covariates of the test subjects")
  }
  frames <- list(X_train = X_train, X_test = X_test)
  frames <- frames[!vapply(frames, is.null, logical(1))]
  for (name in names(frames)) {
    write_table(as.data.frame(frames[[name]]), file.path(folder, paste0(name, ".csv")))
  }
  c("--features", paste0(names(frames), ".csv"))
}

interpolation_words <- function(models, interpolation) {
  if (!is.null(interpolation) && is.null(names(interpolation))) {
    return(c("--interpolation", interpolation))
  }
  own <- unlist(lapply(models, function(model) model$interpolation))
  own[names(interpolation)] <- interpolation
  if (length(own) == 0) NULL else c(rbind("--interpolation", paste0(names(own), "=", own)))
}
