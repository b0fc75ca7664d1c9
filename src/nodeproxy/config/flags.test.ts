import { describe, expect, it } from 'vitest'
import { describeFault } from '../../lib/yaml.ts'
import { parseFlags } from './flags.ts'

function line(...args: string[]) {
  const result = parseFlags(args)
  if (!result.ok) throw new Error(describeFault(result.problem))
  return result.line
}

function given(...args: string[]): string[] {
  return line(...args).settings.map(({ path, text }) => `${path}=${text}`)
}

describe('parseFlags', () => {
  it.each([
    [['--proxy-mode=ipvs'], ['mode=ipvs']],
    [['--proxy-mode', 'ipvs'], ['mode=ipvs']],
    [['--proxy_mode=ipvs'], ['mode=ipvs']],
    [['--masquerade-all'], ['iptables.masqueradeAll=true']],
    [['--masquerade-all=false'], ['iptables.masqueradeAll=false']],
    [['-v', '4'], ['logging.verbosity=4']],
    [['-v4'], ['logging.verbosity=4']],
    [['-v=4'], ['logging.verbosity=4']],
    [['--v=4'], ['logging.verbosity=4']],
    [['--oom-score-adj=-5'], ['oomScoreAdj=-5']],
    [['--hostname-override=a_b'], ['hostnameOverride=a_b']],
    [['--metrics-port=9'], ['metricsBindAddress=9']],
    [
      ['--nodeport-addresses=10.0.0.0/8', '--nodeport-addresses=fd00::/8'],
      ['nodePortAddresses=10.0.0.0/8', 'nodePortAddresses=fd00::/8'],
    ],
  ])('%j sets %j', (args, settings) => {
    expect(given(...args)).toEqual(settings)
  })

  it('returns the flags that are not settings', () => {
    expect(
      line('--config=c.yaml', '--master', 'http://x', '--cleanup', '--init-only=false'),
    ).toEqual({
      config: 'c.yaml',
      writeConfigTo: undefined,
      master: 'http://x',
      cleanup: true,
      initOnly: false,
      wait: undefined,
      version: false,
      help: false,
      settings: [],
      ignored: [],
    })
    expect(line('-h').help).toBe(true)
    expect(line('--wait=1m30s').wait).toBe(90_000)
  })

  it('lists each logging flag of kube-proxy once as ignored', () => {
    const args = ['--logtostderr=true', '--logtostderr', '--vmodule', 'a=1', '--stderrthreshold=2']
    expect(line(...args).ignored).toEqual(['logtostderr', 'vmodule', 'stderrthreshold'])
  })

  it.each([
    [['--masquerade-al=false'], /^--masquerade-al: unknown flag; did you mean --masquerade-all\?$/],
    [['--zzz'], /^--zzz: unknown flag; see --help/],
    [['-x'], /^-x: unknown flag/],
    [['--v'], /^--v: needs a value$/],
    [['--config'], /^--config: needs a value$/],
    [['--cleanup', '--wait=soon'], /^--wait: "soon": write a duration such as 30s or 2m$/],
    [['start'], /too many arguments.*start/],
    [['--cleanup=maybe'], /^--cleanup: "maybe": write nothing, true or false$/],
  ])('refuses %j with the message %s', (args, message) => {
    expect(() => line(...args)).toThrow(message)
  })
})
