sg_command <- function(required = TRUE) {
  option <- getOption("survgauge.command")
  asked <- if (is.null(option)) Sys.getenv("SURVGAUGE") else option
  from <- if (is.null(option)) "the environment variable SURVGAUGE" else "the option survgauge.command"
  given <- length(asked) > 0 && nzchar(asked[[1]])
  words <- if (given) asked else "survgauge"
  program <- Sys.which(words[[1]])[[1]]
  if (nzchar(program)) {
    return(c(whole_path(program), words[-1]))
  }
  if (!required) {
    return(NULL)
  }
  if (given) {
    refuse(from, " says '", words[[1]], "', which is no program that can be run here")
  }
  refuse(
    "the command survgauge was not found: install the Python package (pip install survgauge), and ",
    "put it on the PATH, or name it: options(survgauge.command = \"path/to/survgauge\")"
  )
}

# The command runs in another folder, where a relative path would lead elsewhere. Links are not
# followed: the python of a virtual environment is one.
whole_path <- function(path) {
  whole <- grepl("^(/|~|[A-Za-z]:|\\\\)", path)
  if (whole) path.expand(path) else file.path(getwd(), path)
}

# Run the command in a folder; return what it prints, or raise the sentence that it ends with.
run_command <- function(arguments, folder) {
  command <- sg_command()
  before <- setwd(folder)
  on.exit(setwd(before))
  encoding <- Sys.getenv("PYTHONIOENCODING", unset = NA)
  Sys.setenv(PYTHONIOENCODING = "utf-8")
  on.exit(
    if (is.na(encoding)) Sys.unsetenv("PYTHONIOENCODING") else Sys.setenv(PYTHONIOENCODING = encoding),
    add = TRUE
  )
  status <- suppressWarnings(system2(
    command[[1]], shQuote(c(command[-1], arguments)), stdout = "stdout.txt", stderr = "stderr.txt"
  ))
  if (status != 0) {
    told <- read_text("stderr.txt")
    sentence <- sub("^survgauge: ", "", grep("^survgauge: ", told, value = TRUE))
    if (length(sentence) == 0) {
      sentence <- c(paste0("the command survgauge ended with status ", status, ":"), told)
    }
    refuse(paste(sentence, collapse = "\n"))
  }
  read_text("stdout.txt")
}

read_text <- function(path) readLines(path, encoding = "UTF-8", warn = FALSE)
