"""Its place puts this folder on the import path, so that tests in any folder can `import families`."""

pytest_plugins = ("pytester", "small_runs")
