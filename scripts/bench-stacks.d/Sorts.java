import java.util.*;
import java.util.stream.*;

public class Sorts {
	static int rounds(int n) {
		Map<String, Integer> counts = new HashMap<>();
		for (int i = 0; i < 20000; i++)
			counts.merge("k" + i % (n + 97), i, Integer::sum);
		return counts.entrySet().stream().sorted(Map.Entry.comparingByValue())
			.map(e -> e.getKey().hashCode()).collect(Collectors.reducing(0, (a, b) -> a * 31 + b));
	}

	public static void main(String[] args) {
		System.out.println(IntStream.range(0, 300).parallel().map(Sorts::rounds).sum());
	}
}
