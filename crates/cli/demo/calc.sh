# A small library of shell functions. Source it: . ./calc.sh
