// Plays everything inside a page.
import * as turnlock from 'turnlock'
import { playBoth } from './both.mjs'

globalThis.playBoth = (job) => playBoth(turnlock, job)
