"""Tests of deploy/: its files are valid, and the processes they describe run."""
