dnl CLAIMD_WITH(name, VARIABLE, pkg-config modules, what it is for)
dnl --with-name=auto|yes|no. "auto" builds without it when it is not there, "yes" makes that an error.
dnl Sets with_name to yes or no, VARIABLE_CFLAGS and VARIABLE_LIBS, the conditional and the macro HAVE_VARIABLE.
AC_DEFUN([CLAIMD_WITH], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=auto|yes|no], [$4])], [], [with_$1=auto])
  AS_CASE([$with_$1], [auto|yes|no], [], [AC_MSG_ERROR([--with-$1 takes auto, yes or no, not $with_$1])])
  AS_IF([test "x$with_$1" != xno], [
    PKG_CHECK_MODULES([$2], [$3], [found_$1=yes], [found_$1=no])
    AS_IF([test "x$found_$1$with_$1" = xnoyes], [AC_MSG_ERROR([--with-$1=yes, but $3 was not found])])
    with_$1=$found_$1])
  AM_CONDITIONAL([HAVE_$2], [test "x$with_$1" = xyes])
  AS_IF([test "x$with_$1" = xyes], [AC_DEFINE([HAVE_$2], [1], [$4])])
])
