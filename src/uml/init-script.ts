import type { KernelRun, Share } from './kernel-run.ts'

const CHANNEL = '/dev/ttyS0'
/** The device to which the exit status is written; then the kernel is killed from outside. */
const REPORT = '/dev/ttyS1'
const SHELL_LINE = '/dev/ttyS2'
const CONSOLE = '/dev/tty0'
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export interface InitParts {
  readonly run: KernelRun
  readonly release: string
  /** Folder of the modules on this machine. */
  readonly modules: string
  /** `rows cols` of the terminal, where there is one. */
  readonly size?: string
}

/**
 * The init process of the kernel, as a shell script. The root file system is this machine's, read-only, below an
 * overlay in memory that takes every change. An overlay needs no list of writable places, and it also caches what
 * hostfs would otherwise read again.
 */
export function initScript(parts: InitParts): string {
  const { run } = parts
  return `#!/bin/sh
export PATH=${PATH}
mount -t tmpfs tmpfs /tmp
insmod ${parts.modules}/kernel/fs/overlayfs/overlay.ko
mkdir /tmp/upper /tmp/work /tmp/root
mount -t overlay overlay -o lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/work /tmp/root
cd /tmp/root
mount -t tmpfs -o mode=755 tmpfs run
mkdir run/machine
pivot_root . run/machine
umount -l /run/machine
rmdir /run/machine
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
ln -s /proc/self/fd /dev/fd
ln -s fd/0 /dev/stdin
ln -s fd/1 /dev/stdout
ln -s fd/2 /dev/stderr
${(run.share ?? []).map(mountShare).join('')}mkdir -p /lib/modules
rm -rf /lib/modules/${parts.release}
ln -s ${parts.modules} /lib/modules/${parts.release}
${withoutModules(parts)}for name in iptables ip6tables; do
  update-alternatives --set $name /usr/sbin/$name-legacy >/dev/null 2>&1
done
modprobe ipv6
ip link set lo up
exec </dev/null >${CONSOLE} 2>&1
stty -F ${CONSOLE} ${run.terminal === true ? `sane ${sizeOf(parts.size)}` : '-opost -echo'}
exec 3<>${CONSOLE} 4<>${CHANNEL} 5<>${REPORT}
stty -F ${CHANNEL} raw -echo
stty -F ${REPORT} -echo
${run.terminal === true ? RESIZE : ''}${run.shell === true ? shells(run) : ''}${run.terminal === true ? onTerminal(command(parts)) : onPipe(command(parts))}
sync
stty -F ${CONSOLE} -echo
echo status $status >&5
sleep 60
`
}

/** The size of the terminal of this machine. */
const RESIZE = `while read -r rows columns; do
  stty -F ${CONSOLE} rows "$rows" columns "$columns"
done <&5 &
`

/** One shell after the other, for the clients of the shell socket. */
function shells({ cwd = '/' }: KernelRun): string {
  return `shell=sh
command -v bash >/dev/null && shell='bash --norc'
stty -F ${SHELL_LINE} sane
while :; do
  env -C ${shellWord(cwd)} HOME=/root TERM=xterm PS1='uml# ' setsid --ctty --wait $shell -i
done <>${SHELL_LINE} >&0 2>&0 3>&- 4>&- 5>&- &
`
}

function mountShare({ host, inside, writable }: Share): string {
  const options = `${writable === true ? 'rw' : 'ro'},${host}`
  return `mkdir -p ${shellWord(inside)}
mount -t hostfs -o ${shellWord(options)} hostfs ${shellWord(inside)}
`
}

function onTerminal(line: string): string {
  return `${line} <&3 3>&- 4>&- 5>&-
status=$?`
}

/**
 * Runs the command with a pipe to the console, so that it does not take the console for a terminal. Processes that the
 * command left running may hold the pipe open, so the script waits for it only a moment.
 */
function onPipe(line: string): string {
  return `mkfifo /run/np-uml-output
cat </run/np-uml-output &
cat=$!
${line} >/run/np-uml-output 2>&1 3>&- 4>&- 5>&-
status=$?
(sleep 1; kill $cat) 2>/dev/null &
wait $cat 2>/dev/null`
}

/** Removes the files of modules from the overlay, as if they had never been installed. */
function withoutModules({ run, release, modules }: InitParts): string {
  const names = run.withoutModules ?? []
  if (names.length === 0) return ''
  const files = names.map((name) => `-name ${shellWord(`${patternOf(name)}.ko*`)}`)
  return `find ${modules}/ ${files.join(' -o ')} | xargs rm -f
depmod ${release}
`
}

/** A pattern for the name: in names of modules and their files, `-` and `_` mean the same. */
function patternOf(name: string): string {
  return name.replaceAll(/[-_]/g, '[-_]')
}

function sizeOf(size = ''): string {
  const [rows, columns] = size.split(' ')
  return rows === undefined || columns === undefined ? '' : `rows ${rows} columns ${columns}`
}

/** Runs the command in a session of its own, with the console as its terminal if there is one. */
function command({ run }: InitParts): string {
  const { env = {}, cwd = '/', terminal = false, args = [] } = run
  const variables = { PATH, HOME: '/root', ...env, UML_CHANNEL: CHANNEL }
  const words = [
    'setsid',
    ...(terminal ? ['--ctty'] : []),
    'env',
    '-i',
    '-C',
    cwd,
    ...Object.entries(variables).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${value}`],
    ),
    run.command,
    ...args,
  ]
  return words.map(shellWord).join(' ')
}

/** A text as one word of a POSIX shell, whatever it holds. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
