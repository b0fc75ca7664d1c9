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
