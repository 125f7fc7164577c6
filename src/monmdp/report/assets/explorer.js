function mountExplorer() {}
