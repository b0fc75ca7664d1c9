import { type ProgramRunner, type Ran, startProgramRunner } from '../runner/program-runner.ts'
import type { Namespace } from './namespace.ts'

const SCRIPT = new URL('../runner/node-command.script.ts', import.meta.url)

/** Runs commands of node-proxy, such as `doctor`, in one process in the namespace of a node. */
export interface NodeCommands extends AsyncDisposable {
  run(args: readonly string[]): Promise<Ran>
}

/** The process starts with the first command. */
export function createNodeCommands({ name, spared }: Namespace): NodeCommands {
  let runner: ProgramRunner | undefined
  const start = (): ProgramRunner => {
    const started = startProgramRunner({ script: SCRIPT, enter: ['ip', 'netns', 'exec', name] })
    if (started.pid !== undefined) spared.add(started.pid)
    return started
  }
  return {
    run(args) {
      runner ??= start()
      return runner.run({ args })
    },
    async [Symbol.asyncDispose]() {
      await runner?.[Symbol.asyncDispose]()
    },
  }
}
