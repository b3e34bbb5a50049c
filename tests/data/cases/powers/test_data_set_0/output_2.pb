Boutput_2J
œVB¨Ö8BµÉBb¶.B‹İB´«úA