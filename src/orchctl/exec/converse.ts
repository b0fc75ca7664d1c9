import type { Readable } from 'node:stream'
import type { RemoteCommand } from '../../streams/remote-command/command-client.ts'
import type { CommandResult } from '../../streams/remote-command/command-result.ts'
import { writeBytes } from '../pods/write-bytes.ts'
import type { Host, OutputStream, Terminal } from '../usage/host.ts'

export interface ConversationOptions {
  readonly isInputSent: boolean
  /** The terminal that the command gets the keys and the size of. */
  readonly terminal?: Terminal
}

/** Connects a command with the program's input and outputs until it ends; an interrupt ends it. */
export async function converse(
  remote: RemoteCommand,
  host: Host,
  { isInputSent, terminal }: ConversationOptions,
): Promise<CommandResult> {
  using held = new DisposableStack()
  const close = (): void => remote.close()
  host.signal.addEventListener('abort', close, { once: true })
  held.defer(() => host.signal.removeEventListener('abort', close))
  if (terminal !== undefined) {
    terminal.setRaw(true)
    held.defer(() => terminal.setRaw(false))
    const resize = (): void => remote.resize(terminal.size())
    held.defer(terminal.onResize(resize))
    resize()
  }
  if (isInputSent) {
    void sendInput(host, remote)
    held.defer(() => void host.stdin.destroy?.())
  } else remote.stdin.end()
  const outputs = [copy(remote.stdout, host.stdout), copy(remote.stderr, host.stderr)]
  const result = await remote.ended
  await Promise.all(outputs)
  return result
}

/** Passes the input on, until it ends or the command takes no more. */
async function sendInput({ stdin }: Host, remote: RemoteCommand): Promise<void> {
  try {
    for await (const chunk of stdin) {
      const isTaken = await new Promise<boolean>((resolve) => {
        remote.stdin.write(chunk, (error) => resolve(error === null || error === undefined))
      })
      if (!isTaken) return
    }
  } catch {
    // The input was broken off, as when the command has ended.
  }
  remote.stdin.end()
}

async function copy(from: Readable, to: OutputStream): Promise<void> {
  for await (const chunk of from) await writeBytes(to, chunk as Uint8Array)
}
