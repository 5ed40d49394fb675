/**
 * What people read, in Chinese. See `texts-en.ts` for the roles.
 */
import type { Texts } from './texts-en.ts'
import { ENGLISH } from './texts-en.ts'

/** The sentences by the place where they stand. */
export const CHINESE: Texts = {
  locale: 'zh-CN',
  size: (bytes) => ENGLISH.size(bytes).replace('bytes', '字节'),

  usage: (command) => `${command} 查看和整理本项目的记忆：
  list              列出全部记忆，最近写入的在前
  show NAME         显示一条记忆的全文；NAME 是标题或文件名
  search WORDS      在标题、描述和正文中查找，须包含所有词
  forget NAME       忘记一条；可用 undo 恢复（加 --purge 则不留副本）
  undo [NAME]       恢复最近忘记的一条，或名为 NAME 的一条
  why               模型得到了哪些记忆，哪些没有给它
  doctor            检查崩溃或手工修改留下的问题；doctor fix 进行修复
  where             各个目录和文件的位置`,
  shellUsage: (command) => `  import --from zcode|claude-code [--folder DIR] [--apply]
                    从其他程序复制本项目的记忆；不加 --apply 时只预览
  export [--output FILE] [--format markdown|json] [--force]
                    把全部记忆输出为一份文本，或写入文件；--force 覆盖已有文件

选项：--project DIR（默认为当前目录）、--json、--help、--version
退出码：0 完成，1 发现问题、没有找到或被拒绝，2 用法错误，3 磁盘或其他进程造成的障碍
记忆保存在 $DSH_HOME（默认 ~/.dsh）下，运行 ${command} where 查看确切位置。`,
  usageProblems: {
    noCommand: '缺少命令',
    notACommand: (word) => `没有“${word}”这个命令`,
    needsName: (verb) => `${verb} 后面要写标题或文件名`,
    needsWords: (verb) => `${verb} 后面要写查找的词`,
    takesNoWord: (verb, word) => `${verb} 不接受“${word}”`,
    takesNoOption: (verb, option) => `${verb} 不接受 --${option}`,
    optionMissing: (option, allowed) =>
      `缺少 --${option}；请写 --${option} ${allowed.join(' 或 ')}`,
    optionValue: (option, value, allowed) =>
      `--${option} 不能是“${value}”；请写 --${option} ${allowed.join(' 或 ')}`,
    emptyOutput: '--output 后面要写文件，- 表示标准输出',
    emptyProject: '--project 后面要写目录',
  },
  noProjectThere: (project) => `${project} 不是目录，也没有记忆；请检查 --project`,
  seeHelp: (command) => `运行 ${command} --help 查看命令和选项。`,
  unknownVerb: (verb, command) => `没有“${verb}”这个命令。\n\n${CHINESE.usage(command)}`,
  takesNothing: (call, rest) => `${call} 后面不写内容，因此不接受“${rest}”；它针对本会话的项目。`,
  needsName: (verb, command) => `哪一条记忆？请写 ${command} ${verb} NAME，NAME 是标题或文件名。`,
  needsWords: (command) => `查找什么词？请写 ${command} search WORDS。`,
  noProject: '此会话没有工作目录，不属于任何项目，因此没有记忆。',

  listed: (count, project) => `${project} 有 ${count} 条记忆`,
  noneYet: (project) => `${project} 还没有记忆。`,
  noneHint: '让模型记住一件事，它就会出现在这里。',
  memoryAbove: (directory) => `${directory} 有记忆；要查看它，请加 --project "${directory}"。`,
  memoryAboveSession: (directory) => `${directory} 有记忆；在那里启动的会话会得到它。`,
  indexUnreadable: (reason) => `索引无法读取：${reason}`,
  notIndexed: '不在索引中（doctor fix 会补上）',
  fileMissing: '文件不存在（doctor fix 会删去这一行）',
  unreadable: (reason) => `无法读取：${reason}`,

  fileLabel: '文件',
  typeLabel: '类型',
  writtenLabel: '写入时间',
  sessionLabel: '会话',
  descriptionLabel: '描述',
  cutBody: (rest, path) => `……还有 ${rest}；全文见 ${path}`,

  found: (count, searched, words) => `${searched} 条记忆中有 ${count} 条包含“${words}”`,
  noneFound: (searched, words) => `${searched} 条记忆中没有包含“${words}”的。`,

  missing: (name) => `没有名为“${name}”的记忆。`,
  listHint: (command) => `用 ${command} list 查看全部。`,
  missingInTrash: (name) => `没有保留名为“${name}”的已忘记的记忆。`,
  kept: '保留的副本，最近忘记的在前：',
  nothingToUndo: '没有可以恢复的记忆。',
  ambiguous: (name) => `有多条记忆名为“${name}”，请写文件名：`,
  closest: '最接近的名称：',

  forgotten: (title, fileName) => `已忘记：${title}（${fileName}）`,
  undoUntil: (date, command, fileName) =>
    `副本保留到 ${date}；用 ${command} undo ${fileName} 可以恢复。`,
  purged: '没有保留副本，无法恢复。',
  restored: (title, path) => `已恢复：${title}（${path}）`,

  whySession: {
    shown: (shown, total) => `本会话的模型得到了索引中 ${total} 条里的 ${shown} 条。`,
    absent: '本会话的模型没有得到记忆：读取时还没有索引。',
    none: '本会话的模型没有得到记忆：它是子代理。',
    inherited: '这个子代理得到的内容与其父会话相同。',
    unreadable: '本会话的模型没有得到记忆：索引无法读取。',
  },
  whyNew: {
    shown: (shown, total) => `按默认设置，新会话会得到索引中 ${total} 条里的 ${shown} 条。`,
    absent: '新会话不会得到记忆：没有索引。',
    unreadable: '新会话不会得到记忆：索引无法读取。',
  },
  sizes: (part, characters, tokens) => `${part}：${characters} 个字符，约 ${tokens} 个 token`,
  guidancePart: '使用说明',
  indexPart: '索引及其外框',
  tokenNote: 'token 数为估算：每四个 ASCII 字符或每一个其他字符算一个。',
  givenLines: (indexFile) => `给出的内容，来自 ${indexFile}：`,
  omittedLines: {
    'over-limit': (lines, characters, isRecent) =>
      `未给出，超出 ${lines} 行和 ${characters} 个字符的上限（保留${isRecent ? '最近写入的' : '开头的行'}）：`,
    cut: '这一行只放得下开头：',
    comment: '未给出，HTML 注释：',
    frontmatter: '未给出，索引的文件头：',
  },

  healthy: (directory) => `${directory} 没有问题。`,
  findings: (count, directory) => `${directory} 有 ${count} 个问题`,
  findingMessages: {
    'unfinished-save': (name) => `${name} 在索引中没有对应的行，会话不会知道它`,
    'unfinished-forget': (name) => `${name} 的忘记没有完成：副本已在回收站，索引行已删去`,
    'dangling-line': (name) => `索引中有 ${name} 的行，但文件不存在`,
    'duplicate-line': (name) => `索引中 ${name} 的行不止一行`,
    'unreadable-index': (name) =>
      `索引 ${name} 无法读取；把它移走后，doctor fix 会根据记忆文件重建`,
    'stale-lock': (name) => `${name} 是某个进程在保存时中断留下的锁`,
    'moved-aside': (name) => `${name} 的一个版本在删除时被中断，以隐藏的名字留在旁边`,
    'temporary-file': (name) => `${name} 是某个进程中断后留下的临时文件`,
    'open-permissions': (name) => `${name} 可以被其他用户写入`,
    'two-directories': (name) => `项目路径的另一种写法另有一份记忆，没有被使用：${name}`,
  },
  findingRepairs: {
    'unfinished-save': (name) => `在索引中为 ${name} 补上一行`,
    'unfinished-forget': (name) => `删除 ${name}；回收站中的副本保留`,
    'dangling-line': (name) => `从索引中删去 ${name} 的行`,
    'duplicate-line': (name) => `保留 ${name} 的第一行，删去其余的行`,
    'stale-lock': (name) => `删除 ${name}`,
    'moved-aside': (name) => `把 ${name} 放回原处，索引中没有它的行时补上；已有新文件时移入回收站`,
    'temporary-file': (name) => `删除 ${name}`,
    'open-permissions': () => '取消其他用户的写入权限',
  },
  willDo: (repair) => `fix 将会：${repair}`,
  noRepair: '需要手工处理',
  fixHint: (command) => `${command} doctor fix 会修复能修复的问题，不会删除任何记忆。`,
  plan: '将要修复：',
  nothingToMend: '没有可以自动修复的问题。',
  mended: (count) => `已修复 ${count} 个问题。`,
  remaining: (count) => `还剩 ${count} 个问题：`,

  where: {
    project: '项目',
    directory: '记忆',
    indexFile: '索引',
    trash: '回收站',
    home: 'DSH_HOME',
    other: '未使用',
  },
  notThereYet: '尚不存在',
  memoryCount: (count) => `${count} 条记忆`,
  trashCount: (count) => `可恢复 ${count} 条`,
  otherDirectory: '项目路径的另一种写法另有一份记忆',

  programs: ENGLISH.programs,
  noSource: (program) => `没有找到 ${program} 中属于本项目的记忆。`,
  noSourceHint: '如果在别处，请用 --folder DIR 指明目录。',
  preview: (program, source) => `预览：${program} 的记忆，位于 ${source}`,
  imported: (count, directory) => `已复制 ${count} 条记忆到 ${directory}`,
  states: {
    new: '将被复制',
    present: '已经存在',
    differs: '保持不变：已有同名文件，内容不同',
    refused: '不复制',
  },
  copied: '已复制',
  applyHint: '尚未复制任何内容。加 --apply 进行复制。',
  nothingNew: '没有新的内容可以复制。',
  emptySource: '其中没有记忆文件。',
  cannotTell: (source) =>
    `没有复制：无法判断这个目录是否属于本项目：多个路径共用这个目录名，而其中没有会话日志提到本项目的路径。如果仍要复制，请加 --folder "${source}" --apply。`,
  sharedWith: '其他路径的会话也使用这个目录，其中的记忆可能属于它们：',

  exported: (count, file) => `已将 ${count} 条记忆写入 ${file}`,
  skipped: '因无法读取而略去：',

  failures: {
    INVALID_ARGUMENT: '参数有误',
    UNSAFE_PATH: '路径不安全',
    SYMLINK_WRITE_REFUSED: '目标是符号链接，不写入',
    NOT_REGULAR_FILE: '不是普通文件',
    FILE_TOO_LARGE: '文件过大',
    NOT_UTF8: '不是 UTF-8 文本',
    FILE_CHANGED: '文件在读取时不断变化，请重试',
    LOCK_TIMEOUT: '另一个进程一直占用着锁',
    LOCK_LOST: '锁被其他进程取走，请重试',
    READ_FAILED: '无法读取',
    WRITE_FAILED: '无法写入',
    NOT_FOUND: '没有找到',
    CLOSED: '正在关闭',
  },
}
