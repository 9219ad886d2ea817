// Names of made-up people, from several cultures, and the addresses that belong to them.
// It must not contain the name of a real company, nor make an address outside the domains reserved for examples.
import type { Random } from './random.ts';

/** First names, last names, each `name` or `name=spelling in an address`; and the language of the people. */
type Culture = { weight: number; language: string | null; first: string; last: string };

const cultures: readonly Culture[] = [
  {
    weight: 18,
    language: 'en',
    first:
      'Olivia, Amelia, Grace, Hannah, Zoe, Abigail, Charlotte, Harriet, Oliver, Jack, Samuel, Thomas, Henry, Callum, Ethan, Isaac',
    last: "Walker, Hughes, Carter, Bennett, Fletcher, Marsh, Whitfield, O'Connor, O'Brien, MacLeod, Barnes, Hartley, Pike, Rowe",
  },
  {
    weight: 18,
    language: 'de',
    first:
      'Anna, Lena, Jürgen=juergen, Sophie, Käthe=kaethe, Mia, Johanna, Lukas, Felix, Jörg=joerg, Maximilian, Björn=bjoern, Ulrike, Heike, Tobias',
    last: 'Müller=mueller, Schäfer=schaefer, Weiß=weiss, Krüger=krueger, Hoffmann, Lindner, Vogel, Brandt, Köhler=koehler, Jansen, von der Heide=vonderheide, Großmann=grossmann',
  },
  {
    weight: 8,
    language: null,
    first: 'Camille, Chloé, Élodie, Inès, Manon, Léa, Louis, Hugo, Théo, Étienne, Jérôme, Gaël',
    last: "Dubois, Lefèvre, Moreau, Girard, D'Amour, Fontaine, Mercier, Noël, Rousseau, Perrin",
  },
  {
    weight: 9,
    language: null,
    first:
      'Lucía, María José, Sofía, Carmen, Valentina, Itziar, Mateo, Íñigo, Joaquín, Andrés, Sebastián, Nicolás',
    last: 'García López, Muñoz, Fernández, Ibáñez, Castillo, Peña, Rojas, Quispe, Herrera, Núñez',
  },
  {
    weight: 5,
    language: null,
    first: 'Zofia, Małgorzata, Agnieszka, Łucja, Wojciech, Paweł, Stanisław, Michał',
    last: 'Wiśniewska, Kowalczyk, Zieliński, Dąbrowski, Woźniak, Łukasik, Jabłoński',
  },
  {
    weight: 6,
    language: null,
    first: 'Ayşe, Elif, Zeynep, Gülşen, Emre, Çağlar, Yiğit, Oğuz, İbrahim=ibrahim',
    last: 'Yılmaz, Çelik, Şahin, Öztürk, Aydın, Güneş, Doğan',
  },
  {
    weight: 6,
    language: 'en',
    first: 'Chidinma, Ngozi, Adaeze, Folasade, Oluwaseun, Emeka, Tunde, Kwame, Ama, Thandiwe, Sipho',
    last: 'Okafor, Adeyemi, Balogun, Mensah, Nkosi, Dlamini, Eze, Abubakar',
  },
  {
    weight: 9,
    language: 'en',
    first: 'Priya, Ananya, Deepika, Lakshmi, Aarav, Rohan, Vikram, Arjun, Imran, Farah',
    last: 'Sharma, Patel, Iyer, Nair, Banerjee, Reddy, Khan, Chatterjee, Gill',
  },
  {
    weight: 6,
    language: null,
    first: '美咲=misaki, 陽菜=hina, さくら=sakura, 翔太=shota, 健一=kenichi, 大輔=daisuke',
    last: '佐藤=sato, 鈴木=suzuki, 高橋=takahashi, 田中=tanaka, 渡辺=watanabe, 山本=yamamoto',
  },
  {
    weight: 6,
    language: 'en',
    first: 'Xiuying, Meiling, Jiayi, Minh Anh, Ngọc, Wei, Haoran, Zihan, Đức=duc, Quang',
    last: 'Zhang, Wang, Liu, Chen, Nguyễn, Trần, Phạm, Lê',
  },
  {
    weight: 4,
    language: null,
    first: 'Ольга=olga, Наталія=nataliia, Ірина=iryna, Дмитро=dmytro, Андрій=andrii, Сергій=serhii',
    last: 'Шевченко=shevchenko, Коваленко=kovalenko, Бондар=bondar, Ткачук=tkachuk, Мельник=melnyk',
  },
  {
    weight: 3,
    language: null,
    first: 'ليلى=layla, فاطمة=fatima, نور=nour, يوسف=yousef, عمر=omar, كريم=karim',
    last: 'حداد=haddad, المصري=almasri, خوري=khoury, منصور=mansour, ناصر=nasser',
  },
  {
    weight: 2,
    language: null,
    // Some people have one name only.
    first: 'Suharto, Sukarni, Wahyuni, Purwanto, Budiarti',
    last: '',
  },
];

type Name = { shown: string; spelling: string };

const letters: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ı: 'i', æ: 'ae' };

/** Returns the letters of a name that an address can have. */
const spelled = (name: string): string =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replace(/[ßøłđıæ]/g, (letter) => letters[letter] ?? '')
    .replace(/[^a-z]/g, '');

const namesIn = (list: string): Name[] =>
  list
    .split(', ')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [shown = '', spelling = spelled(shown)] = entry.split('=');
      return { shown: shown.normalize('NFC'), spelling };
    });

const prepared = cultures.map(({ first, last, ...culture }) => ({
  ...culture,
  first: namesIn(first),
  last: namesIn(last),
}));

export type Named = { first_name: string; last_name: string; email: string; language: string | null };

/** Returns a function that makes one person after the other, each with their own address and none of `reserved`. */
export function createNames(random: Random, reserved: ReadonlySet<string>): () => Named {
  const taken = new Map<string, number>();
  return () => {
    const culture = random.pickWeighted(prepared);
    const first = random.pick(culture.first);
    const last = culture.last.length > 0 ? random.pick(culture.last) : { shown: '', spelling: '' };
    const local = [first.spelling, last.spelling].filter((part) => part !== '').join('.');
    const domain = random.chance(0.9) ? 'example.com' : 'example.org';
    let count = taken.get(local) ?? 0;
    let email: string;
    do {
      count += 1;
      email = `${local}${count === 1 ? '' : count}@${domain}`;
    } while (reserved.has(email));
    taken.set(local, count);
    return {
      first_name: first.shown,
      last_name: last.shown,
      email,
      language: culture.language,
    };
  };
}
