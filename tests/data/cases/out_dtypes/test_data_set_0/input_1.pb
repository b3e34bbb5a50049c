Binput_1JòSÌ›ÕrVy2²AÖ½§[`W
