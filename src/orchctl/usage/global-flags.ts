import { type Command, Option } from 'commander'

/** The flags that every command accepts, before or behind its name. */
export interface GlobalFlags {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
  readonly server?: string
  readonly token?: string
  readonly certificateAuthority?: string
  readonly insecureSkipTlsVerify?: boolean
  readonly as?: string
  readonly asGroup?: readonly string[]
  readonly asUid?: string
  readonly requestTimeout?: string
  readonly v?: string
}

const FLAGS: readonly Option[] = [
  new Option('--kubeconfig <file>', 'the kubeconfig; default: $KUBECONFIG, then ~/.kube/config'),
  new Option('--context <name>', 'the context of the kubeconfig'),
  new Option('-n, --namespace <name>', 'the namespace; default: that of the context'),
  new Option('--server <url>', 'the API server, instead of that of the kubeconfig'),
  new Option('--token <token>', 'the bearer token, instead of the credentials of the kubeconfig'),
  new Option('--certificate-authority <file>', 'the authority of the server, a PEM file'),
  new Option('--insecure-skip-tls-verify', 'accept any certificate of the server: not secure'),
  new Option('--as <user>', 'impersonate this user'),
  repeated('--as-group <group>', 'impersonate this group; repeat for more'),
  new Option('--as-uid <uid>', 'impersonate this UID'),
  new Option('--request-timeout <duration>', 'such as 10s; 0: none; default: 30s'),
  new Option('-v, --v <level>', 'write requests to standard error: 6, with bodies of answers: 8'),
]

/** Adds the flags to the program. */
export function addGlobalFlags(program: Command): void {
  for (const flag of FLAGS) program.addOption(flag)
}

/** Whether an argument is a global flag whose value is the next argument. */
export function takesNextArgument(arg: string): boolean {
  const flag = FLAGS.find(({ long, short }) => arg === long || arg === short)
  return flag?.required === true
}

/** A flag that may be repeated: all its values, in their order. */
export function repeated(flags: string, description: string): Option {
  return new Option(flags, description).argParser(
    (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
  )
}
