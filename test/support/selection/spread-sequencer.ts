import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { spread } from './spread.ts'

/**
 * Orders files as vitest does (long ones first), but distributes the files of User-mode Linux evenly among those of
 * their group, because each of them keeps a processor busy, whereas the others mostly wait.
 */
export class SpreadSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
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
