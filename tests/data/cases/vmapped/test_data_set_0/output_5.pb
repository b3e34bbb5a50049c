Boutput_5Jmm@Э║Я└
ёЖ└z#$?╪лг╜