import { COMMAND_FLAGS } from './command-line.ts'
import { type AnyField, FIELD_ENTRIES } from './fields/index.ts'
import { IGNORED_FIELDS } from './ignored-fields.ts'

/** The text of docs/operate/configuration.md, from the same table as everything else. */
export function configurationDocument(): string {
  return `${INTRODUCTION}
## Settings

| field | flag | type | default | change | meaning |
|---|---|---|---|---|---|
${FIELD_ENTRIES.map(([path, field]) => fieldRow(path, field)).join('\n')}

\`change\`: \`live\` settings are taken over by a running daemon; a new file that changes a \`restart\`
setting is refused as a whole, with the names of those settings, and the old one stays in force.

Rules between settings: minSyncPeriod ≤ syncPeriod; detectLocalMode BridgeInterface needs
detectLocal.bridgeInterface, InterfaceNamePrefix needs detectLocal.interfaceNamePrefix;
userspace.entry bind needs userspace.bindMap;
healthzBindAddress and metricsBindAddress may not want the same socket.

## Flags that are no setting

| flag | meaning |
|---|---|
${Object.entries(COMMAND_FLAGS)
  .map(([flag, { doc }]) => `| \`--${flag}\` | ${doc} |`)
  .join('\n')}

\`--healthz-port\` and \`--metrics-port\` are deprecated: they set the port of the address, 0 serves
nothing. The logging flags of kube-proxy (\`--logtostderr\`, \`--vmodule\`, …) and the others that
\`--help\` lists at its end are accepted, ignored, and named once in the log.

## A KubeProxyConfiguration

\`apiVersion: kubeproxy.config.k8s.io/v1alpha1\` with \`kind: KubeProxyConfiguration\` is accepted as it
is. Two things differ from a NodeProxyConfiguration:

- An empty, zero or \`null\` value of ${code(zeroFields())} means the default, because generated files
  list every field. In a NodeProxyConfiguration what is written counts (\`healthzBindAddress: ""\`
  serves nothing), and only \`null\` means the default.
- The fields below mean nothing here. Each that holds more than a zero value is named once in the log.

| field | why it is ignored |
|---|---|
${[...IGNORED_FIELDS].map(([path, reason]) => `| \`${path}\` | ${reason} |`).join('\n')}
`
}

const INTRODUCTION = `# Configuration

<!-- Generated from src/nodeproxy/config; \`npx vitest run src/nodeproxy/config --update\` writes it anew. -->

\`\`\`yaml
apiVersion: proxy.config.orch.io/v1alpha1
kind: NodeProxyConfiguration
mode: iptables
clusterCIDR: 10.244.0.0/16
\`\`\`

\`node-proxy --config=FILE\` reads such a file, YAML or JSON. Flags win over the file, the file wins
over defaults, and \`/configz\` shows for every field which of them it was. Unknown fields, duplicate
fields and values out of range are refused with file, line and column; \`node-proxy\` then exits with
code 2. Durations have units (\`250ms\`, \`30s\`, \`1h2m\`).

A changed file (also the swap of a mounted ConfigMap), or SIGHUP, is applied without a restart.
`

function fieldRow(path: string, field: AnyField): string {
  const fallback = JSON.stringify(field.type.encode(field.fallback))
  const note = field.fallbackNote === undefined ? '' : `; ${field.fallbackNote}`
  const flag = field.flag === 'v' ? '`-v`, `--v`' : `\`--${field.flag}\``
  const cells = [
    `\`${path}\``,
    flag,
    field.type.name,
    `\`${fallback}\`${note}`,
    field.reload,
    field.doc,
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function zeroFields(): string[] {
  return FIELD_ENTRIES.filter(([, field]) => field.zeroIsUnset).map(([path]) => path)
}

function code(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}
