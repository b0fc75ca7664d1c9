import { setTimeout as delay } from 'node:timers/promises'
import type { Sandbox } from '../environment/sandbox.ts'
import { commandOf } from './command.ts'
import { obey } from './execute-command.ts'
import { Model } from './model.ts'
import type { Display } from './plain.ts'
import { showPlain } from './plain.ts'
import { Revival } from './revival.ts'
import { renderScreen } from './screen/screen.ts'
import { openTerminal } from './screen/terminal.ts'
import { startStream } from './stream.ts'

/** Four pictures a second. */
const FRAME_MS = 250
const REVIVE_MS = 1000

/** Shows the sandbox until `signal` is aborted or somebody quits. */
export async function runLive(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const quit = new AbortController()
  const until = AbortSignal.any([signal, quit.signal])
  const model = new Model(sandbox)
  const reviving = revive(sandbox, model, until)
  const show = process.stdout.isTTY ? showScreen : showPlain
  try {
    await show({ sandbox, model, until, quit: () => quit.abort() })
  } finally {
    quit.abort()
    await reviving
  }
}

/** Starts pods again that have been dead for a while. */
async function revive(sandbox: Sandbox, model: Model, until: AbortSignal): Promise<void> {
  const revival = new Revival()
  while (!until.aborted) {
    for (const pod of revival.due(sandbox.cluster.pods.states(), Date.now())) {
      await obey(sandbox, model, { kind: 'toggle', pod })
    }
    await delay(REVIVE_MS, undefined, { signal: until }).catch(() => undefined)
  }
}

async function showScreen({ sandbox, model, until, quit }: Display): Promise<void> {
  const onKey = (key: string): void => {
    const command = commandOf(key)
    if (command?.kind === 'quit') quit()
    else if (command !== undefined) void obey(sandbox, model, command)
  }
  const terminal = openTerminal(onKey)
  const stop = startStream(sandbox, (asked) => model.tally.add(asked))
  try {
    while (!until.aborted) {
      terminal.draw(renderScreen(model.view(), terminal.size()))
      await delay(FRAME_MS, undefined, { signal: until }).catch(() => undefined)
    }
  } finally {
    stop()
    terminal.close()
  }
}
