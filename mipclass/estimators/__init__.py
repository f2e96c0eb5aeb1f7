"""scikit-learn classifiers, one for each paper's model, and risk scores."""

ESTIMATORS = {
    "OutlierPathSVC": "mipclass.estimators.outlier_path:OutlierPathSVC",
    "PolyhedralClassifier": "mipclass.estimators.polyhedral:PolyhedralClassifier",
    "RGDTreeOneClass": "mipclass.estimators.rgd_tree:RGDTreeOneClass",
    "RGDTreeSVC": "mipclass.estimators.rgd_tree:RGDTreeSVC",
    "RiskScoreClassifier": "mipclass.estimators.risk_score:RiskScoreClassifier",
    "TauFPLClassifier": "mipclass.estimators.tau_fpl:TauFPLClassifier",
    "ZeroOneClassifier": "mipclass.estimators.zero_one:ZeroOneClassifier",
}
"""Class name -> where the class lives; nothing is imported until one is asked for."""
