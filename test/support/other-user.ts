import { fileURLToPath } from 'node:url'

/** This checkout, without a slash at its end. */
const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
/** Where other users find it: a checkout may be in a folder that only its owner enters, such as /root. */
const BOUND = '/mnt'

/**
 * The words that run a command as an ordinary user, in a mount namespace of its own in which the checkout is at a place
 * that every user reaches. Paths in the checkout become paths there. `hasNoRights`: no way to a capability, either.
 */
export function asUser(
  user: number,
  command: readonly string[],
  { hasNoRights = false } = {},
): readonly string[] {
  const script = 'mount --bind "$1" "$2" && shift 2 && exec setpriv "$@"'
  const without = ['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all']
  return [
    'unshare',
    '--mount',
    '--propagation=private',
    'sh',
    '-c',
    script,
    'sh',
    CHECKOUT,
    BOUND,
    `--reuid=${user}`,
    `--regid=${user}`,
    '--clear-groups',
    ...(hasNoRights ? [...without, '--no-new-privs'] : []),
    ...command.map((word) =>
      word.startsWith(`${CHECKOUT}/`) ? BOUND + word.slice(CHECKOUT.length) : word,
    ),
  ]
}
