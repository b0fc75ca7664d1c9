import type { Clock } from '../../lib/clock.ts'
import { decodeMessages, type NetlinkMessage } from './message.ts'
import type { OpenTransport } from './transport.ts'

/**
 * How long a watch waits for further changes before it calls back. They often come in groups: an interface appears with
 * all its addresses, a flush removes rules and routes one by one.
 */
const SETTLE_MS = 100

/** The multicast groups of rtnetlink that a watch joins, and which of their messages concern it. */
export interface WatchedGroups {
  readonly groups: readonly number[]
  readonly concerns: (message: NetlinkMessage) => boolean
}

/**
 * Calls back soon after a message that concerns the watch, or after messages were lost. Opens a socket, and returns a
 * function that closes it.
 */
export function watchGroups(
  { open, clock }: { readonly open: OpenTransport; readonly clock: Clock },
  { groups, concerns }: WatchedGroups,
  onChange: () => void,
): () => void {
  let cancel: (() => void) | undefined
  const soon = () => {
    cancel ??= clock.after(SETTLE_MS, () => {
      cancel = undefined
      onChange()
    })
  }
  const transport = open({
    onDatagram: (bytes) => {
      for (const message of decodeMessages(bytes)) if (concerns(message)) soon()
    },
    onOverrun: soon,
  })
  for (const group of groups) transport.join(group)
  return () => {
    cancel?.()
    transport.close()
  }
}
