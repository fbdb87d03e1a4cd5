// Real kills and freezes: the trials of `npm run kills`.
import '../tests/kills/run.mjs'
