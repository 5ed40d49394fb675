/**
 * Which memory a person means.
 *
 * Role: pure. A name is a file name, a title in any spelling of its topic, or a
 * file name without `.md`, in this order. Two memories of one title are told,
 * not chosen from.
 */
import { topicOfKey } from '../format/slug.ts'
import { toSingleLine } from '../format/text.ts'
import { closestNames } from '../store/locate.ts'
import type { NamedMemory } from './outcome.ts'

/** What a name stands for. */
export type FoundMemory<Item> =
  | { kind: 'found'; item: Item }
  | { kind: 'ambiguous' | 'missing'; candidates: NamedMemory[] }

function toNamed({ fileName, title }: NamedMemory): NamedMemory {
  return { fileName, title }
}

function topicOf(text: string): string {
  return topicOfKey(toSingleLine(text))
}

/** A name without the quotes that people put around it. */
function unquoted(name: string): string {
  const trimmed = name.trim()
  const quoted = /^(?:"(.+)"|'(.+)'|“(.+)”|「(.+)」)$/u.exec(trimmed)
  return quoted?.slice(1).find((inner) => inner !== undefined) ?? trimmed
}

/**
 * @param items - all memories, best first.
 * @param given - what the person wrote.
 * @returns the memory, or the closest names when there is none, or all that share the title.
 */
export function findByName<Item extends NamedMemory>(
  items: readonly Item[],
  given: string,
): FoundMemory<Item> {
  const name = unquoted(given)
  const topic = topicOf(name)
  const rules: ((item: Item) => boolean)[] = [
    ({ fileName }) => fileName === name,
    ({ title }) => title === name,
    ({ title }) => topicOf(title) === topic,
    ({ fileName }) => fileName === `${name}.md`,
    ({ fileName }) => fileName.toLowerCase() === name.toLowerCase(),
  ]
  for (const rule of rules) {
    const [item, ...others] = items.filter(rule)
    if (item === undefined) continue
    if (others.length === 0) return { kind: 'found', item }
    return { kind: 'ambiguous', candidates: [item, ...others].map(toNamed) }
  }
  const titles = new Map(items.map(({ fileName, title }) => [fileName, title]))
  const closest = closestNames(name, titles)
  const candidates = closest.map((fileName) => ({ fileName, title: titles.get(fileName) ?? '' }))
  return { kind: 'missing', candidates }
}
