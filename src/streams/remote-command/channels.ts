import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  parseJson,
  stringAt,
} from '../../lib/json.ts'
import type { CommandResult, TerminalSize } from '../node-streams.ts'

const MAX_EXIT_CODE = 255

/** The first byte of each message of `v4.channel.k8s.io` and `v5.channel.k8s.io`. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const

/** The protocols of remote commands: over a WebSocket both, over SPDY the first. */
export const COMMAND_V4 = 'v4.channel.k8s.io'
/** The same, with a message by which a client ends the input: 255 and the channel. */
export const COMMAND_V5 = 'v5.channel.k8s.io'

/** A message of a channel. */
export function channelMessage(channel: number, data: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([channel]), data])
}

/** The Status of meta/v1 that the error stream of a remote command carries at the end. */
export function statusOf(result: CommandResult): JsonObject {
  const head = { kind: 'Status', apiVersion: 'v1', metadata: {} }
  if ('problem' in result) {
    const message = `Internal error occurred: ${result.problem}`
    const causes = [{ message: result.problem }]
    const failed = { status: 'Failure', reason: 'InternalError', code: 500 }
    return { ...head, ...failed, message, details: { causes } }
  }
  const { exitCode } = result
  if (exitCode === 0) return { ...head, status: 'Success' }
  return {
    ...head,
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  }
}

/** The result that such a Status describes. */
export function resultOf(text: string): CommandResult {
  const status = parseJson(text)
  if (!isJsonObject(status)) return { problem: 'the server named no result' }
  if (status['status'] === 'Success') return { exitCode: 0 }
  const causes = arrayAt(status, 'details', 'causes')
  const exit = causes.find((cause) => stringAt(cause, 'reason') === 'ExitCode')
  const exitCode = Number(stringAt(exit, 'message') || Number.NaN)
  const isCode = Number.isInteger(exitCode) && exitCode > 0 && exitCode <= MAX_EXIT_CODE
  if (isCode && status['reason'] === 'NonZeroExitCode') return { exitCode }
  return { problem: stringAt(status, 'message') || 'the server named no reason' }
}

const MAX_SIZE = 0xffff

/** Parses a message of the resize stream, such as `{"Width":80,"Height":24}`; undefined: it is invalid. */
export function readTerminalSize(message: Buffer): TerminalSize | undefined {
  const parsed = parseJson(message.toString())
  if (!isJsonObject(parsed)) return undefined
  const [width, height] = [parsed['Width'], parsed['Height']]
  return isSize(width) && isSize(height) ? { width, height } : undefined
}

/** The message that says so. */
export function terminalSizeMessage({ width, height }: TerminalSize): Buffer {
  return Buffer.from(JSON.stringify({ Width: width, Height: height }))
}

function isSize(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_SIZE
}
