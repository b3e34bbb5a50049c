/* version.h: the version, which the Makefile gives. */
#ifndef T2O_BASE_VERSION_H
#define T2O_BASE_VERSION_H

#ifndef T2O_VERSION
#define T2O_VERSION "0.1.0"
#endif

#endif
