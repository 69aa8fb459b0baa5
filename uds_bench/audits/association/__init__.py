"""The association audit: which facts about a person does a model hold, and how firmly? (WikiMem)"""
