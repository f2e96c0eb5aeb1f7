"""Proofs of the robust SVM: branch and bound in which every bound confines the rules to a ball."""
