sg_prediction <- function(x, times = NULL, ...) UseMethod("sg_prediction")

# kind: survival (a matrix), time or risk (a vector), incidence (a list of matrices, by cause).
new_prediction <- function(kind, values, times = NULL, interpolation = NULL) {
  for (part in if (is.list(values)) values else list(values)) {
    gap <- which(is.na(part), arr.ind = TRUE)
    if (length(gap) > 0) {
      refuse("predictions must have no missing values; got NA in row ", min(if (is.matrix(gap)) gap[, 1] else gap))
    }
  }
  structure(
    list(kind = kind, values = values, times = times, interpolation = interpolation),
    class = "sg_prediction"
  )
}

# Times of the columns of a matrix: those given, or those in its column names.
grid_of <- function(x, times) {
  if (is.null(times)) {
    times <- suppressWarnings(as.numeric(colnames(x)))
    if (length(times) == 0 || anyNA(times)) {
      refuse(
        "the matrix has no times: give times, or times as its column names",
        if (ncol(x) == 1) "; one predicted time per subject is a vector, as x[, 1] is"
      )
    }
  }
  if (length(times) != ncol(x)) {
    refuse(
      "the matrix has ", ncol(x), if (ncol(x) == 1) " column" else " columns", ", and there are ",
      length(times), " times; a row is a subject and a column a time"
    )
  }
  found <- suppressWarnings(as.numeric(times))
  if (!all(is.finite(found)) || anyDuplicated(found)) {
    refuse("times must be different finite numbers; got ", shown(utils::head(times, 10)))
  }
  found
}

sg_risk <- function(x, times = NULL) {
  if (!is.matrix(x) || !is.numeric(x)) {
    refuse("sg_risk() takes a matrix of probabilities of an event; got ", shown(class(x)))
  }
  new_prediction("survival", 1 - x, grid_of(x, times))
}

sg_prediction.sg_prediction <- function(x, times = NULL, ...) x

sg_prediction.default <- function(x, times = NULL, ...) {
  refuse(
    "predictions of class ", shown(class(x)), " are not supported: give a matrix of survival ",
    "probabilities (a row is a subject, a column a time), sg_risk() of a matrix of risks, predicted ",
    "times, a list with a matrix for each cause, or write a method of sg_prediction()"
  )
}

sg_prediction.matrix <- function(x, times = NULL, ...) {
  if (!is.numeric(x)) {
    refuse("the matrix of predictions must be numeric; got ", typeof(x))
  }
  new_prediction("survival", x, grid_of(x, times))
}

sg_prediction.numeric <- function(x, times = NULL, ...) new_prediction("time", as.numeric(x))

# A column time or risk, what predict() of tidymodels returns, or a matrix as a frame.
sg_prediction.data.frame <- function(x, times = NULL, ...) {
  if (is.list(x[[".pred"]])) {
    return(nested_curves(x[[".pred"]]))
  }
  columns <- c(time = "time", .pred_time = "time", risk = "risk")
  found <- intersect(names(columns), names(x))
  numeric <- all(vapply(x, is.numeric, logical(1)))
  names <- sub("^X(?=[0-9])", "", names(x), perl = TRUE)  # data.frame() writes X30 for 30
  named <- !anyNA(suppressWarnings(as.numeric(names)))
  if (length(found) == 0 && length(x) > 0 && numeric && (named || !is.null(times))) {
    return(sg_prediction(structure(as.matrix(x), dimnames = list(NULL, names)), times))
  }
  if (length(found) != 1) {
    refuse(
      "a data frame of predictions must have one column time or risk, the column .pred_time or ",
      ".pred of tidymodels, or survival probabilities with times as names of its columns; got ",
      shown(names(x))
    )
  }
  new_prediction(columns[[found]], as.numeric(x[[found]]))
}

# The list column .pred: a data frame per subject, with .eval_time and .pred_survival.
nested_curves <- function(frames) {
  times <- frames[[1]][[".eval_time"]]
  if (is.null(times) || is.null(frames[[1]][[".pred_survival"]])) {
    refuse(
      "the data frames in .pred must have the columns .eval_time and .pred_survival; got ",
      shown(names(frames[[1]]))
    )
  }
  same <- vapply(frames, function(f) identical(f[[".eval_time"]], times), logical(1))
  if (!all(same)) {
    refuse("the subjects in .pred must have the same .eval_time; row ", which(!same)[[1]], " has others")
  }
  values <- do.call(rbind, lapply(frames, function(f) f[[".pred_survival"]]))
  new_prediction("survival", values, as.numeric(times))
}

# survfit(cox, newdata): all steps of the curves.
sg_prediction.survfit <- function(x, times = NULL, ...) {
  if (!inherits(x, "survfitcox")) {
    refuse("a survfit object must be that of a Cox model and new data: survfit(model, newdata = ...)")
  }
  new_prediction("survival", t(as.matrix(x$surv)), x$time, "step")
}

# survfit() of a multi-state Cox model: probabilities of states, the first of which has no event.
sg_prediction.survfitms <- function(x, times = NULL, ...) {
  if (length(dim(x$pstate)) != 3) {
    refuse("a survfit object of several states must be that of a Cox model and new data")
  }
  values <- lapply(2:length(x$states), function(k) t(x$pstate[, , k]))
  names(values) <- x$states[-1]
  new_prediction("incidence", values, x$time, "step")
}

sg_prediction.ranger.prediction <- function(x, times = NULL, ...) {
  if (is.null(x$survival)) {
    refuse("the forest of this ranger prediction is not one of survival")
  }
  new_prediction("survival", x$survival, x$unique.death.times, "step")
}

# riskRegression::predictCox(type = "survival")
sg_prediction.predictCox <- function(x, times = NULL, ...) {
  if (is.null(x$survival)) {
    refuse("predictCox() must be asked for survival: type = \"survival\"")
  }
  new_prediction("survival", x$survival, x$times)
}

sg_prediction.predictCSC <- function(x, times = NULL, ...) {
  refuse(
    "predictions of a cause-specific Cox model are of one cause: give a list with one of each ",
    "cause, such as list(relapse = predict(fit, newdata, times, cause = 1), death = ...)"
  )
}

# mlr3proba: a matrix of survival with times as column names, or predicted times, or a ranking.
sg_prediction.PredictionSurv <- function(x, times = NULL, ...) {
  curves <- x$data$distr
  if (is.matrix(curves)) {
    return(new_prediction("survival", curves, grid_of(curves, NULL), "step"))
  }
  if (!is.null(curves)) {
    refuse("the distr of an mlr3proba prediction must be a matrix of survival; got ", shown(class(curves)))
  }
  if (!is.null(x$data$response)) {
    return(new_prediction("time", as.numeric(x$data$response)))
  }
  if (is.null(x$data$crank)) {
    refuse("this mlr3proba prediction has neither distr nor response nor crank")
  }
  new_prediction("risk", as.numeric(x$data$crank))
}

# One matrix of cumulative incidence per cause.
sg_prediction.list <- function(x, times = NULL, ...) {
  if (is.null(names(x)) || any(!nzchar(names(x)))) {
    refuse("a list of predictions of one model must have the names of the causes")
  }
  csc <- vapply(x, inherits, logical(1), "predictCSC")
  if (all(csc)) {
    times <- x[[1]]$times
  }
  matrices <- lapply(x, function(part) if (inherits(part, "predictCSC")) part$absRisk else part)
  if (!all(vapply(matrices, is.matrix, logical(1)))) {
    refuse("a list of predictions of one model must have a matrix of cumulative incidence for each cause")
  }
  grids <- lapply(matrices, grid_of, times = times)
  if (!all(vapply(grids, identical, logical(1), grids[[1]]))) {
    refuse("the matrices of the causes must have the same times")
  }
  new_prediction("incidence", matrices, grids[[1]])
}
