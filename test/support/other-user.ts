import { fileURLToPath } from 'node:url'

/** This checkout, without a slash at its end. */
const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
/** Where the checkout is for other users: its own folder may be inaccessible to them, such as /root. */
const BOUND = '/mnt'

/**
 * The command line that runs a command as an unprivileged user, in a mount namespace in which every user can access the
 * checkout. Paths in the checkout are replaced accordingly. `hasNoRights`: the user cannot gain any capability, either.
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
