import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { spread } from './spread.ts'

/**
 * Files that take minutes, the slowest first. Started last, such a file would run on when all others are done. On a
 * fresh machine vitest knows no durations, and takes the largest files to be the slowest.
 */
export const SLOWEST: readonly string[] = [
  'test/kernel/flows.test.ts',
  'test/kernel/loopback.test.ts',
  'test/kernel/machine/one-node.test.ts',
  'test/server/orchctl.test.ts',
  'test/kernel/doctor/node-settings.test.ts',
  'test/kernel/inspection/remote.test.ts',
  'test/kernel/nftables/connections.test.ts',
  'test/kernel/doctor/differing-nodes.test.ts',
  'test/kernel/refusal.test.ts',
  'test/kernel/datagrams.test.ts',
  'test/kernel/traffic.test.ts',
  'test/kernel/inspection/more-symptoms.test.ts',
  'src/modes/userspace/testing/conformance.test.ts',
  'src/modes/nftables/histories.test.ts',
  'test/kernel/half-change.test.ts',
  'test/kernel/schedulers.ipvs.test.ts',
]

/**
 * Orders files by `SLOWEST` and then as vitest does (long ones first), but distributes the files of User-mode Linux
 * evenly among those of their group, because each of them keeps a processor busy, whereas the others mostly wait.
 */
export class SpreadSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const inOrder = await super.sort(files)
    const sorted = inOrder.toSorted((one, other) => rank(one) - rank(other))
    const groups = Map.groupBy(sorted, ({ project }) => project.config.sequence.groupOrder)
    return [...groups.values()].flatMap((group) => {
      const inKernel = group.filter(isInUserModeLinux)
      const here = group.filter((file) => !isInUserModeLinux(file))
      return [...spread(inKernel, here)]
    })
  }
}

function isInUserModeLinux({ pool }: TestSpecification): boolean {
  return pool === 'uml'
}

function rank({ moduleId, project }: TestSpecification): number {
  const index = SLOWEST.indexOf(relative(project.vitest.config.root, moduleId))
  return index === -1 ? SLOWEST.length : index
}
