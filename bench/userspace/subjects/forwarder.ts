import type { DataPath } from '../../../src/modes/userspace/forwarder.ts'
import { startProgram } from './program.ts'
import type { Subject } from './subject.ts'

const PROGRAM = new URL('./forwarder-main.ts', import.meta.url).pathname
/** The same flags as those of the daemon's launcher. */
const FLAGS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=4'] as const
const CACHE = new URL('../../../node_modules/.cache/node-proxy', import.meta.url).pathname

/** The data path of the daemon without the daemon; it listens on the address itself. */
export function forwarder(dataPath: DataPath): Subject {
  return {
    name: dataPath,
    start(setup) {
      const task = JSON.stringify({ ...setup, dataPath })
      const command = [process.execPath, ...FLAGS, PROGRAM, task]
      return startProgram(setup, command, { NODE_COMPILE_CACHE: CACHE })
    },
  }
}
