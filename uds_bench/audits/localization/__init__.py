"""The localization audit (Lacuna): did a method change the weights that hold the knowledge?"""
